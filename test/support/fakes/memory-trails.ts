/** What commands ask of the audit trails, from the events of a log in memory. */
import { approvalIdOf } from '../../../commands/operations/operation.ts';
import type { PartInApproval, Trails } from '../../../commands/ports/trails.ts';
import { EventMetadata } from '../../../commands/values/event.ts';
import type { MemoryEventStore } from './memory-event-store.ts';

export const memoryTrails = (events: MemoryEventStore): Trails => ({
  organisationsOf: (userId) => Promise.resolve(organisationsOf(events, userId)),
  approvalsOf: (principalIds) => Promise.resolve(approvalsOf(events, principalIds)),
});

/** The organisations in which the person did something. */
const organisationsOf = ({ all }: MemoryEventStore, userId: string): readonly string[] => {
  const ids = all
    .map(({ metadata }) => EventMetadata.parse(metadata))
    .flatMap(({ org_id: orgId, actor }) => (actor.id === userId && orgId !== null ? [orgId] : []));
  return [...new Set(ids)];
};

/** The approvals that one of them requested, voted on or cancelled. */
function approvalsOf({ all }: MemoryEventStore, principalIds: readonly string[]): readonly PartInApproval[] {
  const parts = ['OperationSubmitted', 'ApprovalVoteCast', 'ApprovalCancelled'];
  const streams = Map.groupBy(all, ({ streamName }) => streamName);
  return [...streams].flatMap(([stream, events]) => {
    const requested = events.find(({ type }) => type === 'ApprovalRequested');
    const submitted = events.find(({ type }) => type === 'OperationSubmitted');
    const tookPart = events.some(
      ({ type, metadata }) =>
        parts.includes(type) && principalIds.includes(EventMetadata.parse(metadata).actor.id),
    );
    if (!requested || !submitted || !tookPart) return [];
    const id = approvalIdOf(stream.slice('operation-'.length));
    const mailboxId = String(submitted.data['mailbox_id']);
    return [{ id, mailboxId, draftId: (requested.data['draft_id'] as string | null | undefined) ?? null }];
  });
}
