/** The client address of a request behind proxies (RFC 7239 and the older `X-Forwarded-For`). */
import type { IncomingHttpHeaders } from 'node:http';
import ipaddr from 'ipaddr.js';
import { BoundedMap } from '../../commands/values/bounded-map.ts';

type Address = ReturnType<typeof ipaddr.process>;
type IsTrusted = (address: Address) => boolean;

/** Peers whose addresses are kept as read: those of connections that are in use. */
const MOST_PEERS = 1_000;

export interface TrustedProxies {
  /**
   * The right-most address of the chain that is not a trusted proxy's: anything left of it could be forged by the client at
   * that address. The peer's own address without a trusted peer, or when the headers cannot be read.
   */
  clientOf(peer: string, headers: IncomingHttpHeaders): string;
}

/** `CIDR`, or one address. Null for anything else. */
export function parseNetwork(text: string): readonly [Address, number] | null {
  const [address = '', length, ...more] = text.split('/');
  const network = addressIn(address);
  if (network === null || more.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return null;
  const longest = network.kind() === 'ipv4' ? 32 : 128;
  const bits = length === undefined ? longest : Number(length);
  return bits > longest ? null : [network, bits];
}

/** Trusts only these networks; entries that `parseNetwork` cannot read are ignored. */
export function trustProxies(networks: readonly string[]): TrustedProxies {
  const known = networks.map(parseNetwork).filter((network) => network !== null);
  const isTrusted: IsTrusted = (address) =>
    known.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  const peers = new BoundedMap<string, Peer>(MOST_PEERS);
  const readPeer = (text: string): Peer => {
    const address = addressIn(text);
    const peer = { text: address?.toString() ?? text, proxy: address && isTrusted(address) ? address : null };
    peers.set(text, peer);
    return peer;
  };
  return {
    clientOf: (text, headers) => {
      const { text: own, proxy } = peers.get(text) ?? readPeer(text);
      if (proxy === null) return own;
      const [first, ...others] = chainsOf(headers).map((chain) => lastUntrusted(chain, proxy, isTrusted));
      // A proxy that writes one of the two headers passes the other on as the client sent it: then neither is trusted.
      return first !== undefined && others.every((other) => other === first) ? first : own;
    },
  };
}

/** Who opened a connection. */
interface Peer {
  /** Its address as it is reported. */
  readonly text: string;
  /** Null for a client. */
  readonly proxy: Address | null;
}

function lastUntrusted(chain: readonly string[], peer: Address, isTrusted: IsTrusted): string {
  let client = peer;
  for (const hop of chain.toReversed()) {
    const address = addressIn(hop);
    if (address === null) break;
    client = address;
    if (!isTrusted(client)) break;
  }
  return client.toString();
}

/** The addresses of each header that is present and readable, the client's first. */
function chainsOf(headers: IncomingHttpHeaders): readonly (readonly string[])[] {
  const { forwarded, 'x-forwarded-for': older } = headers;
  const chains = [
    forwarded === undefined ? null : forwardedFor(forwarded),
    older === undefined ? null : String(older).split(','),
  ];
  return chains.filter((chain) => chain !== null);
}

/** One `name=value` of RFC 7239 4 with its terminator. */
const PAIR = /[ \t]*([\w!#$%&'*+\-.^`|~]+)=(?:([\w!#$%&'*+\-.^`|~:[\]]+)|"((?:[^"\\]|\\.)*)")[ \t]*([;,]|$)/y;

/** The `for` of each hop; empty where one has none. Null for a header that does not follow the grammar. */
function forwardedFor(header: string): readonly string[] | null {
  const hops: string[] = [];
  let hop = '';
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < header.length) {
    const [, name = '', token, quoted, end] = PAIR.exec(header) ?? [];
    if (end === undefined) return null;
    if (name.toLowerCase() === 'for') hop = token ?? quoted ?? '';
    if (end === ';') continue;
    hops.push(hop);
    hop = '';
  }
  return hops;
}

/** The address of a hop without port, brackets and zone; the IPv4 address of one that maps it into IPv6. */
function addressIn(hop: string): Address | null {
  const text = hop.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? [];
  const [, beforePort] = /^([\d.]+):\d{1,5}$/.exec(text) ?? [];
  const [address = ''] = (bracketed ?? beforePort ?? text).split('%', 1);
  const isAddress =
    bracketed === undefined && ipaddr.IPv4.isValidFourPartDecimal(address)
      ? true
      : beforePort === undefined && address.includes(':') && ipaddr.IPv6.isValid(address);
  return isAddress ? ipaddr.process(address) : null;
}
