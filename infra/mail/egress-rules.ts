/** What `EGRESS_ALLOW_MAIL` allows (`contract.md` 18): networks that are not public, and ports other than the mail ports. */
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.process>;

export interface EgressRule {
  readonly network: Address;
  readonly prefixLength: number;
  /** The port allowed besides the mail ports; null = none, `any` = all of them. */
  readonly port: number | 'any' | null;
}

const MAIL_PORTS: ReadonlySet<number> = new Set([25, 143, 465, 587, 993]);

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

/** True when mail may be fetched or sent there: a public address on a mail port, or one that a rule allows. */
export function isAllowed(rules: readonly EgressRule[], ip: string, port: number): boolean {
  const address = ipaddr.process(ip);
  const isMailPort = MAIL_PORTS.has(port);
  if (isMailPort && isPublic(ip)) return true;
  return rules.some(
    (rule) => contains(rule, address) && (isMailPort || rule.port === 'any' || rule.port === port),
  );
}

function contains({ network, prefixLength }: EgressRule, address: Address): boolean {
  if (network.kind() !== address.kind()) return false;
  return address.match(network, prefixLength);
}

/** True for a globally reachable address. */
export const isPublic = (ip: string): boolean => ipaddr.process(ip).range() === 'unicast';

/** True for the machine's own addresses. */
export const isLoopback = (ip: string): boolean => ipaddr.process(ip).range() === 'loopback';
