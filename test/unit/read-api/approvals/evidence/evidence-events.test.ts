/** Which events belong to the evidence of one approval. */
import { expect } from 'chai';
import type { StoredEvent } from '../../../../../commands/values/event.ts';
import {
  type ApprovalStreams,
  evidenceEvents,
  policyThatDecided,
  votingSessions,
} from '../../../../../read-api/approvals/evidence/evidence-events.ts';

interface Facts {
  readonly at: number;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly session?: string | null;
}
const event = (streamName: string, type: string, { at, data = {}, session = null }: Facts): StoredEvent => ({
  id: `${type} at ${String(at)}`,
  ...{ streamName, type, data, revision: 0n, position: BigInt(at) },
  metadata: { actor: { session_id: session } },
  storedAt: new Date(0),
});

const OPERATION = 'operation-opn_1';
const vote = (at: number, session: string | null): StoredEvent =>
  event(OPERATION, 'ApprovalVoteCast', { at, session });
const streams: ApprovalStreams = {
  operation: [
    event(OPERATION, 'OperationSubmitted', { at: 20 }),
    event(OPERATION, 'OperationDecided', { at: 20, data: { policy_version: 2 } }),
    event(OPERATION, 'ApprovalRequested', { at: 20 }),
    vote(30, 'ses_1'),
    vote(40, null),
    vote(50, 'ses_2'),
    event(OPERATION, 'ALaterType', { at: 60 }),
  ],
  draft: [
    event('draft-drf_1', 'DraftStarted', { at: 1 }),
    event('draft-drf_1', 'DraftFrozen', { at: 2, data: { operation_id: 'opn_0' } }),
    event('draft-drf_1', 'DraftFrozen', { at: 18, data: { operation_id: 'opn_1' } }),
    event('draft-drf_1', 'DraftFrozen', { at: 19, data: { operation_id: 'opn_1' } }),
    event('draft-drf_1', 'SendStarted', { at: 70, data: { operation_id: 'opn_1' } }),
    event('draft-drf_1', 'DraftSent', { at: 71, data: { operation_id: 'opn_1' } }),
    event('draft-drf_1', 'DraftSent', { at: 90, data: { operation_id: 'opn_2' } }),
  ],
  policy: [1, 2, 3].map((version) =>
    event('policy-org_1', 'PolicySet', { at: 2 + version, data: { version } }),
  ),
  sessions: [
    [
      event('session-ses_1', 'SessionStarted', { at: 10 }),
      event('session-ses_1', 'SessionSteppedUp', { at: 29 }),
      event('session-ses_1', 'SessionSteppedUp', { at: 31 }),
      event('session-ses_1', 'SessionEnded', { at: 32 }),
    ],
    [event('session-ses_2', 'SessionStarted', { at: 49 })],
    [event('session-ses_3', 'SessionStarted', { at: 5 })],
  ],
};
const chosen = (changes: Partial<ApprovalStreams> = {}): readonly string[] =>
  evidenceEvents({ ...streams, ...changes }).map(({ id }) => id);

describe('evidenceEvents', () => {
  it('takes the whole stream of the operation, also types of later versions', () => {
    expect(chosen()).to.include.members(streams.operation.map(({ id }) => id));
  });

  it('takes the message that was frozen last for the operation, and its sends', () => {
    const ofDraft = chosen().filter((id) => streams.draft.some((one) => one.id === id));
    expect(ofDraft).to.deep.equal(['DraftFrozen at 19', 'SendStarted at 70', 'DraftSent at 71']);
  });

  it('takes the version of the policy that decided', () => {
    expect(chosen().filter((id) => id.startsWith('PolicySet'))).to.deep.equal(['PolicySet at 4']);
    expect(policyThatDecided({ ...streams, operation: [] })).to.equal(null);
    const builtIn = event(OPERATION, 'OperationDecided', { at: 1, data: { policy_version: 0 } });
    expect(policyThatDecided({ ...streams, operation: [builtIn] })).to.deep.equal([]);
  });

  it('takes when the password was given in a session, up to its last vote', () => {
    const ofSessions = chosen().filter((id) => id.startsWith('Session'));
    expect(ofSessions).to.deep.equal([
      'SessionStarted at 10',
      'SessionSteppedUp at 29',
      'SessionStarted at 49',
    ]);
    expect(votingSessions([...streams.operation, vote(55, 'ses_1')])).to.deep.equal(['ses_1', 'ses_2']);
  });

  it('takes no more for an approval without votes that sends nothing', () => {
    const operation = [event(OPERATION, 'ApprovalRequested', { at: 20 })];
    expect(chosen({ operation, draft: [] })).to.deep.equal(['ApprovalRequested at 20']);
  });
});
