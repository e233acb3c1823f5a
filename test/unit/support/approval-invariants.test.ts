import { expect } from 'chai';
import type { StoredEvent } from '../../../commands/values/event.ts';
import {
  brokenApprovalRules,
  type Deciders,
  statusInStream,
} from '../../support/models/approval-invariants.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();

interface Line {
  readonly type: string;
  readonly by?: string;
  readonly seconds?: number;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A stream with one event per second, unless a line gives its time. */
const streamOf = (lines: readonly Line[]): StoredEvent[] =>
  lines.map(({ type, by = 'agt_1', seconds = 0, data = {} }, index) => ({
    streamName: 'operation-opn_1',
    type,
    data,
    id: `event-${String(index)}`,
    revision: BigInt(index),
    position: BigInt(index),
    storedAt: new Date(START),
    metadata: {
      occurred_at: at(seconds),
      request_id: `req_${String(seconds)}`,
      actor: { type: by.startsWith('usr_') ? 'person' : 'agent', id: by },
    },
  }));

const DECIDERS: Deciders = {
  roles: { usr_1: 'owner', usr_a: 'approver', usr_b: 'admin', usr_m: 'member' },
  behindId: 'usr_1',
};
const TERMS = {
  quorum: 1,
  approver_role: 'approver',
  exclude_owner: false,
  commit_ttl: 3_600,
  undo_seconds: 0,
};

const asked = (terms: object = {}, decision = 'require'): readonly Line[] => [
  { type: 'OperationSubmitted' },
  { type: 'OperationDecided', data: { decision } },
  {
    type: 'ApprovalRequested',
    data: { content_hash: 'h', expires_at: at(100), terms: { ...TERMS, ...terms } },
  },
];
const vote = (by: string, seconds: number, data: object = {}): Line => ({
  type: 'ApprovalVoteCast',
  by,
  seconds,
  data: { decision: 'approve', content_hash: 'h', reason: null, own_request: by === 'usr_1', ...data },
});
const granted = (seconds: number, by = 'quorum'): Line => ({
  type: 'ApprovalGranted',
  seconds,
  data: { by, commit_by: at(seconds + 3_600) },
});
const begun = (seconds: number, attempt = 1): readonly Line[] => [
  { type: 'CommitStarted', seconds, data: { attempt, content_hash: 'h' } },
  { type: 'ActionsIntended', seconds },
];
const ended = (seconds: number): readonly Line[] => [
  { type: 'ActionOutcomesRecorded', seconds },
  { type: 'OperationCompleted', seconds },
  { type: 'ApprovalCommitted', seconds },
];
const line = (type: string, seconds: number, data: object = {}): Line => ({
  type,
  seconds,
  data: { ...data },
});

const APPROVED = [...asked(), vote('usr_a', 10), granted(10)];

describe('brokenApprovalRules', () => {
  const broken = (...lines: readonly Line[]): readonly string[] =>
    brokenApprovalRules(streamOf(lines), DECIDERS);

  const sound: readonly (readonly [title: string, lines: readonly Line[], status: string])[] = [
    ['an approval that waits', asked(), 'awaiting_approval'],
    ['an approval that was granted and ran', [...APPROVED, ...begun(20), ...ended(30)], 'committed'],
    [
      'an approval that policy granted',
      [...asked({ quorum: 0 }, 'allow'), granted(0, 'policy'), ...begun(20), ...ended(30)],
      'committed',
    ],
    [
      'an approval of two people',
      [...asked({ quorum: 2 }), vote('usr_a', 10), vote('usr_b', 11), granted(11)],
      'pending_commit',
    ],
    [
      'an approval whose first attempt did nothing',
      [
        ...APPROVED,
        ...begun(20),
        line('CommitAttemptFailed', 30, { expires_at: at(20 + 86_400) }),
        ...begun(40, 2),
      ],
      'committing',
    ],
    [
      'an approval that was rejected',
      [...asked(), vote('usr_a', 10, { decision: 'reject', reason: 'no' }), line('ApprovalRejected', 10)],
      'rejected',
    ],
    [
      'an approval that expired',
      [...asked(), line('ApprovalExpired', 200, { expired_at: at(100) })],
      'expired',
    ],
    [
      'an approval that was cancelled after its grant',
      [...APPROVED, line('ApprovalCancelled', 11)],
      'cancelled',
    ],
    [
      'an approval with an undo delay',
      [
        ...asked({ undo_seconds: 60 }),
        vote('usr_a', 10),
        granted(10),
        line('CommitScheduled', 20, { commit_at: at(80), why: 'undo' }),
        ...begun(80),
      ],
      'committing',
    ],
  ];
  for (const [title, lines, status] of sound) {
    it(`accepts ${title}`, () => {
      expect(broken(...lines)).to.deep.equal([]);
      expect(statusInStream(streamOf(lines))).to.equal(status);
    });
  }

  const cases: readonly (readonly [title: string, lines: readonly Line[], sentence: string])[] = [
    [
      'a commit without approval',
      [...asked(), ...begun(20)],
      'CommitStarted of an approval that is awaiting_approval',
    ],
    [
      'a grant without its quorum',
      [...asked({ quorum: 2 }), vote('usr_a', 10), granted(10)],
      'it was granted without its quorum',
    ],
    [
      'a person counted twice',
      [...asked({ quorum: 2 }), vote('usr_a', 10), vote('usr_a', 11), granted(11)],
      'a vote that counts twice',
    ],
    [
      'a vote on another hash',
      [...asked(), vote('usr_a', 10, { content_hash: 'other' })],
      'a vote on another hash',
    ],
    ['a vote of a member', [...asked(), vote('usr_m', 10)], 'a vote of somebody without the role'],
    ['a vote of an agent', [...asked(), vote('agt_1', 10)], 'a vote of somebody who is no person'],
    ['a late vote', [...asked(), vote('usr_a', 100)], 'a vote after the time was over'],
    [
      'a vote of the excluded owner',
      [...asked({ exclude_owner: true }), vote('usr_1', 10)],
      'a vote of the one it was asked for',
    ],
    [
      'a rejection without a reason',
      [...asked(), vote('usr_a', 10, { decision: 'reject' })],
      'a no without a reason',
    ],
    [
      'an unmarked own request',
      [...asked(), vote('usr_1', 10, { own_request: false })],
      'own_request is told wrongly',
    ],
    [
      'a grant by a policy that requires approval',
      [...asked({ quorum: 0 }), granted(0, 'policy')],
      'policy granted what it does not allow',
    ],
    ['a late commit', [...APPROVED, ...begun(10 + 3_600)], 'a commit after its time'],
    [
      'a commit of another hash',
      [...APPROVED, line('CommitStarted', 20, { attempt: 1, content_hash: 'x' })],
      'a commit of another hash',
    ],
    [
      'two commits at once',
      [...APPROVED, ...begun(20), ...begun(21, 2)],
      'CommitStarted of an approval that is committing',
    ],
    [
      'a second commit after the first',
      [...APPROVED, ...begun(20), ...ended(30), ...begun(40, 2)],
      'CommitStarted of an approval that is committed',
    ],
    ['an intent before the commit', [...APPROVED, line('ActionsIntended', 20)], 'an intent without a commit'],
    [
      'an outcome before the commit',
      [...APPROVED, line('SendOutcomeRecorded', 20)],
      'SendOutcomeRecorded without a commit',
    ],
    [
      'a cancellation during the commit',
      [...APPROVED, ...begun(20), line('ApprovalCancelled', 21)],
      'ApprovalCancelled of an approval that is committing',
    ],
    [
      'a second end',
      [...asked(), line('ApprovalCancelled', 5), line('ApprovalExpired', 200, { expired_at: at(100) })],
      'ApprovalExpired of an approval that is cancelled',
    ],
    [
      'an early expiry',
      [...asked(), line('ApprovalExpired', 50, { expired_at: at(100) })],
      'it expired before its time',
    ],
    [
      'a rejection without a vote',
      [...asked(), line('ApprovalRejected', 10)],
      'it was rejected and nobody said no',
    ],
    [
      'a commit during the undo delay',
      [
        ...asked({ undo_seconds: 60 }),
        vote('usr_a', 10),
        granted(10),
        line('CommitScheduled', 20, { commit_at: at(80), why: 'undo' }),
        ...begun(70),
      ],
      'a commit before the time to cancel was over',
    ],
    [
      'a commit without its undo delay',
      [...asked({ undo_seconds: 60 }), vote('usr_a', 10), granted(10), ...begun(70)],
      'a commit that was never held back',
    ],
    [
      'an end without an outcome',
      [...APPROVED, ...begun(20), line('ApprovalCommitted', 30)],
      'it ended by a commit without an outcome',
    ],
  ];
  for (const [title, lines, sentence] of cases) {
    it(`reports ${title}`, () => {
      expect(broken(...lines)).to.include(sentence);
    });
  }
});
