/** What a server says it can (CAPABILITY, RFC 9051 6.1.1), as far as the gateway cares. */
import type { ImapFlow } from 'imapflow';
import type { ServerCapabilities } from '../../commands/ports/mail-port.ts';

/** Of a client that is logged in: some servers tell more then. */
export function capabilitiesOf(client: ImapFlow): ServerCapabilities {
  const names = [...client.capabilities.keys()].map((name) => name.toUpperCase()).sort();
  const has = new Set(names);
  return {
    move: has.has('MOVE'),
    uidPlus: has.has('UIDPLUS'),
    specialUse: has.has('SPECIAL-USE'),
    condstore: has.has('CONDSTORE'),
    idle: has.has('IDLE'),
    sharesMessages: has.has('X-GM-EXT-1'),
    names,
  };
}
