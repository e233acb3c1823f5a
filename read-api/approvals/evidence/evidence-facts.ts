/** What the lines of evidence say, for people. Pure. */
import type { AuditEntry } from '../../../projections/audit-queries.ts';
import { counted } from '../../../commands/values/counted.ts';
import { isJsonObject } from '../../../commands/values/json-object.ts';

/** A line as it is in the file: `texts` are the sealed texts that it shows, by their place in the body. */
export interface EvidenceLine extends Pick<AuditEntry, 'seq' | 'type' | 'occurredAt' | 'actor' | 'data'> {
  /** `session-…`, `operation-…`: where the event is. */
  readonly streamName: string | null;
  readonly texts: ReadonlyMap<string, string>;
}

export interface Terms {
  readonly requester: string | null;
  readonly requestedAt: string;
  readonly contentHash: string;
  readonly quorum: number;
  readonly rule: string;
  readonly policyVersion: number;
}

export function termsIn(lines: readonly EvidenceLine[]): Terms {
  const requested = lines.find(({ type }) => type === 'ApprovalRequested');
  const decided = lines.find(({ type }) => type === 'OperationDecided');
  const terms = requested?.data['terms'];
  return {
    requester: requested?.actor.id ?? null,
    requestedAt: requested?.occurredAt ?? '',
    contentHash: textIn(requested?.data['content_hash']),
    quorum: Number(isJsonObject(terms) ? terms['quorum'] : 0),
    rule: textIn(decided?.data['rule_id']),
    policyVersion: Number(decided?.data['policy_version'] ?? 0),
  };
}

/** One person's vote. */
export interface Signature {
  readonly by: string | null;
  readonly at: string;
  readonly decision: string;
  readonly contentHash: string;
  /** Null where none was given, or where it is not shown. */
  readonly reason: string | null;
  readonly hasReason: boolean;
  /** When the password was given last, in the session of the vote; null where the file does not show it. */
  readonly signedInAt: string | null;
  /** How long before the vote. */
  readonly age: string | null;
  /** When this person opened what the approval is about, last before the vote. */
  readonly seenAt: string | null;
}

export const signaturesIn = (lines: readonly EvidenceLine[]): readonly Signature[] =>
  lines.filter(({ type }) => type === 'ApprovalVoteCast').map((vote) => signatureOf(vote, lines));

function signatureOf(vote: EvidenceLine, lines: readonly EvidenceLine[]): Signature {
  const before = lines.filter(({ seq }) => seq < vote.seq);
  const { sessionId } = vote.actor;
  const signedIn = before.findLast(
    ({ type, streamName }) =>
      (type === 'SessionStarted' || type === 'SessionSteppedUp') &&
      sessionId !== null &&
      streamName === `session-${sessionId}`,
  );
  const seen = before.findLast(({ type, actor }) => type === 'BodiesRead' && actor.id === vote.actor.id);
  const signedInAt = signedIn?.occurredAt ?? null;
  return {
    by: vote.actor.id,
    at: vote.occurredAt ?? '',
    decision: textIn(vote.data['decision']),
    contentHash: textIn(vote.data['content_hash']),
    reason: vote.texts.get('/data/reason') ?? null,
    hasReason: vote.data['reason'] !== null && vote.data['reason'] !== undefined,
    signedInAt,
    age: signedInAt === null || vote.occurredAt === null ? null : between(signedInAt, vote.occurredAt),
    seenAt: seen?.occurredAt ?? null,
  };
}

function between(from: string, to: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1_000));
  return seconds < 120 ? counted(seconds, 'second') : counted(Math.round(seconds / 60), 'minute');
}

export interface Step {
  readonly at: string;
  readonly text: string;
  /** What the mail server said; null where nothing, or where it is not shown. */
  readonly answer: string | null;
}

const ENDS: Readonly<Record<string, string>> = {
  ApprovalGranted: 'It was granted.',
  ApprovalRejected: 'It was rejected.',
  ApprovalCancelled: 'It was withdrawn.',
  ApprovalExpired: 'Its time was over.',
  ApprovalSuperseded: 'Another approval replaced it.',
  ApprovalInvalidated: 'It became invalid.',
  CommitScheduled: 'The gateway planned to carry it out.',
  CommitStarted: 'Carrying it out began.',
  CommitAttemptFailed: 'An attempt to carry it out had no effect.',
  ApprovalCommitted: 'It was carried out.',
  ApprovalCommitFailed: 'It could not be carried out.',
  SendScheduled: 'The message was held back to be discarded.',
  SendStarted: 'An attempt to send the message began.',
  SendDataBegun: 'The mail server took the addresses; the message went out next.',
  SendPostponed: 'An attempt to send certainly sent nothing; it was to be repeated.',
  DraftSent: 'The mail server took the message.',
  DraftSendFailed: 'The message was certainly not sent.',
  DraftSendUnknown: 'It was unknown whether the message was sent.',
  SentCopyFiled: 'A copy is in the Sent folder.',
  SendReconciled: 'It was found out what became of the message.',
  ActionsIntended: 'Changing the messages began.',
  ActionOutcomesRecorded: 'The messages were changed.',
  ActionsReconciled: 'It was found out what became of the messages.',
  OperationResolved: 'A person said what had become of it.',
};

/** What followed from the votes, in order. */
export const stepsIn = (lines: readonly EvidenceLine[]): readonly Step[] =>
  lines.flatMap(({ type, occurredAt, data, texts }) => {
    const text = ENDS[type];
    if (text === undefined) return [];
    return [{ at: occurredAt ?? '', text: `${text}${detailOf(data)}`, answer: answerIn(texts) }];
  });

function detailOf(data: Readonly<Record<string, unknown>>): string {
  const results = data['results'];
  if (Array.isArray(results)) return ` ${outcomesOf(results)}`;
  const status = data['smtp_status'];
  return typeof status === 'number' ? ` SMTP status ${String(status)}.` : '';
}

function outcomesOf(results: readonly unknown[]): string {
  const outcomes = Map.groupBy(results, (result) => (isJsonObject(result) ? textIn(result['outcome']) : ''));
  return `${[...outcomes].map(([outcome, all]) => `${String(all.length)} ${outcome}`).join(', ')}.`;
}

const answerIn = (texts: ReadonlyMap<string, string>): string | null => texts.get('/data/response') ?? null;

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
