/** Checks shown to somebody who sees them only because he may decide them: a read of that mailbox (`contract.md` 3 and 12). */
import type { Context } from '../../commands/kernel/capability.ts';
import { approvalIdOf } from '../../commands/operations/operation-id.ts';
import type { OperationState } from '../../commands/operations/operation.ts';

export interface SeenOperation {
  readonly id: string;
  readonly state: Pick<OperationState, 'mailboxId'>;
}

/** A page asks again every few seconds: what the same token or session is shown again within this time is one look. */
const ONE_LOOK_MS = 15 * 60_000;
const MOST_LOOKS = 20_000;
const looks = new Map<string, number>();

/** What was not seen before; resolves when that is in the stream. Throws `store_unavailable`. */
export async function recordSeen(
  context: Pick<Context, 'recordRead' | 'caller' | 'ports'>,
  seen: readonly SeenOperation[],
): Promise<void> {
  const now = context.ports.clock.elapsedMs();
  const keyOf = ({ id }: SeenOperation): string => `${context.caller.token.id} ${id}`;
  const unseen = seen.filter((some) => now - (looks.get(keyOf(some)) ?? -Infinity) >= ONE_LOOK_MS);
  await recordLook(context, unseen);
  if (looks.size > MOST_LOOKS) looks.clear();
  for (const some of unseen) looks.set(keyOf(some), now);
}

/** Each look, as at what a message says: one event per mailbox. As `recordSeen`. */
export async function recordLook(
  { recordRead }: Pick<Context, 'recordRead'>,
  seen: readonly SeenOperation[],
): Promise<void> {
  const byMailbox = Map.groupBy(seen, ({ state }) => state.mailboxId ?? '');
  await Promise.all(
    [...byMailbox].map(([mailboxId, some]) =>
      recordRead({
        mailboxId,
        messageIds: [],
        what: 'approval',
        approvalIds: some.map(({ id }) => approvalIdOf(id)),
      }),
    ),
  );
}
