/** An erasure that meets a legal hold waits for its release, and says so once for each hold. */
import { decideAndAppend, systemAuthor } from '../kernel/decide-and-append.ts';
import { holdsAgainst, type Loss } from '../kernel/legal-holds.ts';
import type { Ports } from '../ports/ports.ts';
import { GatewayError } from '../values/errors.ts';
import { legalHold, postponeErasure } from './legal-hold.ts';

type Erasure = Extract<Loss, { readonly kind: 'account' | 'mailbox' }>;
type Used = Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>;

const ownerOf = (erasure: Erasure): string =>
  erasure.kind === 'account' ? erasure.userId : erasure.mailboxId;

/** True while a hold forbids the erasure and all such holds know that it waits. */
export function waitsForRelease({ directory }: Pick<Ports, 'directory'>, erasure: Erasure): boolean {
  const holds = holdsAgainst(directory.state, erasure);
  return holds.length > 0 && holds.every(({ postponed }) => postponed.includes(ownerOf(erasure)));
}

/** Erases, or has it wait. Throws what `erase` throws, except `legal_hold`. */
export async function eraseUnlessHeld(
  ports: Used,
  erasure: Erasure,
  erase: () => Promise<unknown>,
): Promise<void> {
  try {
    await erase();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'legal_hold') throw error;
    await postpone(ports, erasure);
  }
}

async function postpone(ports: Used, erasure: Erasure): Promise<void> {
  for (const { id, orgId } of holdsAgainst(ports.directory.state, erasure)) {
    const { appended } = await decideAndAppend(ports, systemAuthor(ports, orgId), legalHold, {
      id,
      decide: (state) => postponeErasure(state, ownerOf(erasure)),
    });
    if (appended) await ports.directory.waitFor(appended.position);
  }
}
