/** Checks shown to somebody who sees them only because he may decide them: a read of that mailbox (`contract.md` 3 and 12). */
import type { Context } from '../../commands/kernel/capability.ts';
import { approvalIdOf } from '../../commands/operations/operation-id.ts';
import type { OperationState } from '../../commands/operations/operation.ts';

export interface SeenOperation {
  readonly id: string;
  readonly state: Pick<OperationState, 'mailboxId'>;
}

/** One event per mailbox; resolves when they are in the stream. Throws `store_unavailable`. */
export async function recordSeen(
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
