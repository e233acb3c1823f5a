/** Which events show what became of one approval (`docs/audit-format.md` 9). Pure. */
import type { StoredEvent } from '../../../commands/values/event.ts';
import { isJsonObject } from '../../../commands/values/json-object.ts';

export interface ApprovalStreams {
  readonly operation: readonly StoredEvent[];
  /** Of the draft that is sent; empty where nothing is. */
  readonly draft: readonly StoredEvent[];
  /** Of the organisation's policy. */
  readonly policy: readonly StoredEvent[];
  /** Of the sessions in which people voted. */
  readonly sessions: readonly (readonly StoredEvent[])[];
}

/** The whole stream of the operation; what its draft, the policy and the sessions of the voters have to do with it. */
export const evidenceEvents = (streams: ApprovalStreams): readonly StoredEvent[] => [
  ...streams.operation,
  ...sendsOf(streams),
  ...(policyThatDecided(streams) ?? []),
  ...streams.sessions.flatMap((session) => signInsBefore(session, streams.operation)),
];

const OF_A_SEND: ReadonlySet<string> = new Set([
  'SendScheduled',
  'SendStarted',
  'SendDataBegun',
  'SendPostponed',
  'DraftSent',
  'DraftSendFailed',
  'DraftSendUnknown',
  'SentCopyFiled',
  'DraftReleased',
]);

/** The last message that was frozen for the operation, and every attempt to send it. */
function sendsOf({ operation, draft }: ApprovalStreams): readonly StoredEvent[] {
  const operationId = subjectOf(operation);
  const own = draft.filter(({ data }) => operationId !== null && data['operation_id'] === operationId);
  const frozen = own.findLast(({ type }) => type === 'DraftFrozen');
  return [...(frozen === undefined ? [] : [frozen]), ...own.filter(({ type }) => OF_A_SEND.has(type))];
}

/** The version of the policy that decided; empty for the built-in one. Null where no event says which decided. */
export function policyThatDecided({
  operation,
  policy,
}: Pick<ApprovalStreams, 'operation' | 'policy'>): readonly StoredEvent[] | null {
  const decided = operation.find(({ type }) => type === 'OperationDecided');
  if (decided === undefined) return null;
  const version = decided.data['policy_version'];
  return policy.filter(({ type, data }) => type === 'PolicySet' && data['version'] === version).slice(-1);
}

const SIGN_INS: ReadonlySet<string> = new Set(['SessionStarted', 'SessionSteppedUp']);

/** When the password was given in the session, up to the last vote cast in it. */
function signInsBefore(
  session: readonly StoredEvent[],
  operation: readonly StoredEvent[],
): readonly StoredEvent[] {
  const id = subjectOf(session);
  const last = votesIn(operation).findLast((vote) => sessionOf(vote) === id);
  if (last === undefined) return [];
  return session.filter(({ type, position }) => SIGN_INS.has(type) && position < last.position);
}

/** The sessions in which people voted, each once. */
export const votingSessions = (operation: readonly StoredEvent[]): readonly string[] => [
  ...new Set(votesIn(operation).flatMap((vote) => sessionOf(vote) ?? [])),
];

const votesIn = (operation: readonly StoredEvent[]): readonly StoredEvent[] =>
  operation.filter(({ type }) => type === 'ApprovalVoteCast');

function sessionOf({ metadata }: StoredEvent): string | null {
  const actor = metadata['actor'];
  const id = isJsonObject(actor) ? actor['session_id'] : null;
  return typeof id === 'string' ? id : null;
}

/** What follows the category in the name of a stream. */
function subjectOf([first]: readonly StoredEvent[]): string | null {
  return first === undefined ? null : first.streamName.slice(first.streamName.indexOf('-') + 1);
}
