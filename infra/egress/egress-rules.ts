/**
 * What `EGRESS_ALLOW_MAIL`, `EGRESS_ALLOW_WEBHOOKS` and `EGRESS_ALLOW_OAUTH` allow (`contract.md` 18): networks that are not
 * public, and ports beside the usual ones.
 */
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.process>;

export interface EgressRule {
  readonly network: Address;
  readonly prefixLength: number;
  /** The port allowed besides the usual ones; null = none, `any` = all of them. */
  readonly port: number | 'any' | null;
}

/** Reads `CIDR[:port or :*]`, with IPv6 in brackets when a port follows. Throws a one-sentence error naming a bad entry. */
export function parseEgressRule(entry: string): EgressRule {
  const { network, port } = splitPort(entry.trim());
  const [address = '', length] = network.split('/');
  if (!ipaddr.isValid(address)) throw badEntry(entry);
  const parsed = ipaddr.parse(address);
  const longest = parsed.kind() === 'ipv4' ? 32 : 128;
  const prefixLength = length === undefined ? longest : Number(length);
  if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > longest) throw badEntry(entry);
  if (typeof port === 'number' && (port < 1 || port > 65_535)) throw badEntry(entry);
  return { network: parsed, prefixLength, port };
}

const badEntry = (entry: string): Error =>
  new Error(`"${entry}" is not a network: use CIDR[:port or :*], such as 10.0.0.0/8 or [fd00::/8]:1143.`);

function splitPort(entry: string): { network: string; port: EgressRule['port'] } {
  const bracketed = /^\[([^\]]+)\](?:\/(\d+))?(?::(\d+|\*))?$/.exec(entry);
  if (bracketed) {
    const [, inside = '', length, port] = bracketed;
    return { network: length === undefined ? inside : `${inside}/${length}`, port: portOf(port) };
  }
  // A bare IPv6 network contains colons and cannot carry a port.
  const plain = /^([\d.]+(?:\/\d+)?):(\d+|\*)$/.exec(entry);
  return plain ? { network: plain[1] ?? '', port: portOf(plain[2]) } : { network: entry, port: null };
}

const portOf = (text: string | undefined): EgressRule['port'] => {
  if (text === undefined) return null;
  return text === '*' ? 'any' : Number(text);
};

/** True when this may be reached: a public address on a usual port, or one that a rule allows. */
export function isAllowed(
  { rules, ports }: { readonly rules: readonly EgressRule[]; readonly ports: ReadonlySet<number> },
  ip: string,
  port: number,
): boolean {
  const address = ipaddr.process(ip);
  const isUsual = ports.has(port);
  if (isUsual && isPublic(ip)) return true;
  return rules.some(
    (rule) => contains(rule, address) && (isUsual || rule.port === 'any' || rule.port === port),
  );
}

function contains({ network, prefixLength }: EgressRule, address: Address): boolean {
  if (network.kind() !== address.kind()) return false;
  return address.match(network, prefixLength);
}

/** What is allocated of IPv6 for the public (RFC 4291 2.4); the rest has uses of its own, such as an IPv4 address inside. */
const PUBLIC_IPV6: [Address, number] = [ipaddr.parse('2000::'), 3];

/** True for a globally reachable address. */
export function isPublic(ip: string): boolean {
  const address = ipaddr.process(ip);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(...PUBLIC_IPV6));
}

/** True for the machine's own addresses. */
export const isLoopback = (ip: string): boolean => ipaddr.process(ip).range() === 'loopback';
