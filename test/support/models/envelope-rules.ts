/** Invariants of every event's envelope, read from the events alone. */
import { withPrefix } from '../../../commands/values/ids.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';

/** One sentence for each rule that the streams of one mailbox's work break; empty when all hold. */
export function brokenEnvelopeRules(events: readonly StoredEvent[]): readonly string[] {
  const approvals = new Set(
    events.filter(({ type }) => type === 'ApprovalRequested').map(({ streamName }) => approvalIn(streamName)),
  );
  const salts = events.map(({ metadata }) => String(metadata['salt']));
  const isSalted = salts.every((salt) => Buffer.from(salt, 'base64url').length === 16);
  return [
    ...events.flatMap((event) => brokenBy(event, approvals)),
    ...(isSalted ? [] : ['an event has no salt of 16 bytes']),
    ...(new Set(salts).size === salts.length ? [] : ['two events have the same salt']),
  ];
}

function brokenBy(
  { type, streamName, metadata, data }: StoredEvent,
  approvals: ReadonlySet<string>,
): readonly string[] {
  const isOperation = streamName.startsWith('operation-');
  const own = isOperation ? approvalIn(streamName) : data['operation_id'];
  const approval = typeof own === 'string' && approvals.has(withPrefix('chk', own)) ? own : null;
  const told = metadata['approval_id'];
  const rules: readonly [string, boolean][] = [
    ['names no mailbox', metadata['mailbox_id'] === undefined],
    ['does not name its approval', approval !== null && told !== withPrefix('chk', approval)],
    // A draft is frozen before the approval is requested.
    ['names an approval that is none', isOperation && approval === null && told !== undefined],
  ];
  return rules.flatMap(([sentence, isBroken]) => (isBroken ? [`${type} ${sentence}`] : []));
}

const approvalIn = (streamName: string): string => withPrefix('chk', streamName.slice('operation-'.length));
