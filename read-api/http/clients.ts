/** Where requests come from: the address and user agent that events store. */
import { deviceInWords } from '../../commands/accounts/device-in-words.ts';
import type { IncomingMessage } from 'node:http';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';
import { factsOf } from './request-facts.ts';

const MOST_KEPT = 5_000;
const USER_AGENT_CHARS = 256;
const SOURCE_CHARS = 16;

/** The full IPv4 address, or the first four groups of an IPv6 address. */
export function networkOf(address: string): string {
  const text = address.split('%', 1)[0] ?? '';
  return isIpv4(text) ? text : groupsOf(text, 4);
}

/** The first three bytes of an IPv4 address, or the first three groups of an IPv6 address: what one provider's line keeps. */
export function neighbourhoodOf(address: string): string {
  const text = address.split('%', 1)[0] ?? '';
  return isIpv4(text) ? text.split('.').slice(0, 3).join('.') : groupsOf(text, 3);
}

const isIpv4 = (text: string): boolean => !text.includes(':') || text.includes('.');

function groupsOf(text: string, count: number): string {
  const [head = '', tail] = text.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(zeros).fill('0'), ...rest].slice(0, count).join(':');
}

export class Clients {
  readonly #ports: Pick<Ports, 'ids' | 'personal'>;
  readonly #sealed = new Map<string, Promise<Sealed>>();

  constructor(ports: Pick<Ports, 'ids' | 'personal'>) {
    this.#ports = ports;
  }

  /**
   * Seals address and user agent under the principal's key; once, because the text is the same for all its
   * requests. Throws when the database is unavailable.
   */
  seal(principalId: string, request: IncomingMessage): Promise<Sealed> {
    const agent = (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS);
    const text = JSON.stringify({ ip: factsOf(request).address, user_agent: agent });
    const key = `${principalId} ${text}`;
    const known = this.#sealed.get(key);
    if (known) return known;
    if (this.#sealed.size >= MOST_KEPT) this.#sealed.clear();
    const sealed = this.#ports.personal.seal(principalId, text);
    this.#sealed.set(key, sealed);
    sealed.catch(() => this.#sealed.delete(key));
    return sealed;
  }

  /**
   * Distinguishes networks in password attempts: an IPv4 address or an IPv6 /64, which one subscriber holds
   * entirely (RFC 6177).
   */
  networkOf(request: IncomingMessage): string {
    const network = networkOf(factsOf(request).address);
    return `addr_${this.#ports.ids.reservationName(`source ${network}`).slice(0, SOURCE_CHARS)}`;
  }

  /** Distinguishes devices of people who sign in: browser, system and neighbourhood, without versions. */
  deviceOf(request: IncomingMessage): string {
    const device = deviceInWords(request.headers['user-agent'] ?? null);
    return this.#ports.ids.reservationName(`device ${device} ${neighbourhoodOf(factsOf(request).address)}`);
  }

  /** Distinguishes sources in counts of refusals. An address is personal data: only its HMAC is logged. */
  sourceOf(request: IncomingMessage): string {
    return `addr_${this.#ports.ids.reservationName(`source ${factsOf(request).address}`).slice(0, SOURCE_CHARS)}`;
  }
}
