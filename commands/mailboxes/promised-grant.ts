/** A grant that an invite promised: the person gets it with the membership. */
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { GatewayError } from '../values/errors.ts';
import type { Position } from '../values/position.ts';
import { giveGrant } from './decide-grants.ts';
import { type GrantTerms, mailbox } from './mailbox.ts';

interface PromisedGrant {
  readonly mailboxId: string;
  readonly userId: string;
  /** Who promised it, and still may. */
  readonly giverId: string;
  readonly terms: Pick<GrantTerms, 'scopes' | 'folderRoles'>;
}

/** Gives it, unless the mailbox is gone or the person has a grant there. Resolves with the position of the event, if any. */
export async function givePromisedGrant(
  ports: Pick<Ports, 'events' | 'ids' | 'clock'>,
  author: Author,
  { mailboxId, userId, giverId, terms }: PromisedGrant,
): Promise<Position | null> {
  const grant = {
    grantId: ports.ids.newId('grt'),
    principal: { id: userId, kind: 'user' },
    terms: { ...terms, expiresAt: null, quotas: null },
  } as const;
  try {
    const { position } = await decideAndAppend(ports, author, mailbox, {
      id: mailboxId,
      decide: (state, now) => giveGrant(state, { principalId: giverId, now, wider: 'allowed' }, grant),
    });
    return position;
  } catch (error) {
    if (error instanceof GatewayError && (error.code === 'conflict' || error.code === 'not_found'))
      return null;
    throw error;
  }
}
