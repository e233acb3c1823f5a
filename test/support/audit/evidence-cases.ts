/** Evidence of one approval: good, and with every way in which it does not hold together. */
import type { AuditCase } from './audit-case.ts';
import { sha256 } from './sample-keys.ts';
import { canonical, type Entry, type EventFacts, fileOf, SampleTrail } from './sample-trail.ts';

const FROZEN = 'From: a@example.com\r\nSubject: Report\r\n folded\r\n\r\nDate: not a field\r\nBody\r\n';
const DATED = FROZEN.replace('Subject:', 'dATE: Thu, 01 Jan 2026\r\n\t00:00:00 +0000\r\nSubject:');
const hashOf = (text: string): string => sha256(text).toString('hex');
const MANIFEST = `{"mime_sha256":"${hashOf(FROZEN)}","subject":"Zoë"}`;
const HASH = hashOf(MANIFEST);
const OTHER = '{"mime_sha256":"x"}';
const POLICY = { version: 3, rules: [{ id: 'four-eyes' }] };
const STREAM = 'operation-opn_x';

type Step = readonly [type: string, facts?: EventFacts];
const requestedWith = (quorum: number, content_hash = HASH): Step => [
  'ApprovalRequested',
  { data: { content_hash, terms: { quorum } } },
];
const requested = requestedWith(2);
const decided: Step = ['OperationDecided', { data: { policy_version: 3 } }];
const elsewhere = (type: string, stream: string, data: Entry): Step => [
  type,
  { stream, data: data as never },
];
const inSession = (at: string, decision = 'approve'): Step => [
  'ApprovalVoteCast',
  { actor: 'usr_a', session: 'ses_a', at, data: { decision, content_hash: HASH } },
];
const policySet = (data: Entry = POLICY, stream = 'policy-org_test'): Step =>
  elsewhere('PolicySet', stream, data);
const started = elsewhere('SessionStarted', 'session-ses_a', {
  stepped_up_until: '2026-01-01T00:15:00.000Z',
});
const steppedUp = elsewhere('SessionSteppedUp', 'session-ses_a', { until: '2026-01-01T01:15:00.000Z' });
const vote = (actor: string | null, decision = 'approve', content_hash = HASH): Step => [
  'ApprovalVoteCast',
  { actor, data: { decision, content_hash } },
];
const granted: Step = ['ApprovalGranted', { data: { by: 'quorum' } }];
const commit: Step = ['CommitStarted', { data: { content_hash: HASH } }];
const policyText = canonical(POLICY);
const USUAL = [requested, vote('usr_a'), vote('usr_b'), granted, commit];

const content = (name: string, text: string, more: Entry = {}): Entry => ({
  t: 'content',
  name,
  sha256: hashOf(text),
  text,
  ...more,
});
const binary = (name: string, text: string): Entry => ({
  t: 'content',
  name,
  sha256: hashOf(text),
  base64: Buffer.from(text).toString('base64'),
});

interface Parts {
  readonly steps?: readonly Step[];
  readonly contents?: readonly Entry[];
  readonly hide?: (type: unknown) => 'body' | 'line' | 'nothing';
  readonly frozen?: number;
}
const BESIDE = new Set(['DraftFrozen', 'PolicySet', 'SessionStarted', 'SessionSteppedUp']);
/** Other lines stand around those of the approval, and are covered. */
function evidence({ steps = USUAL, contents = [], hide = () => 'nothing', frozen = 1 }: Parts = {}): Buffer {
  const trail = new SampleTrail().fill(3);
  for (let n = 0; n < frozen; n++)
    trail.add('DraftFrozen', {
      approval_id: 'chk_x',
      data: { mime_sha256: hashOf(FROZEN), operation_id: 'opn_x' },
    });
  trail.add('DraftFrozen', { approval_id: 'chk_y', data: { mime_sha256: 'x' } });
  for (const [type, facts] of steps)
    trail.add(type, { stream: STREAM, approval_id: 'chk_x', ...facts }).add('MessageSeen');
  const header = { kind: 'evidence', mode: 'sparse', approval_id: 'chk_x' };
  const records = trail.records(header, (seq) => {
    const line = trail.leaves[seq - 1]?.line;
    if (line === undefined || (line['stream'] !== STREAM && !BESIDE.has(String(line['type'])))) return null;
    const what = hide(line['type']);
    return what === 'line' ? null : what === 'body' ? trail.public(seq) : trail.shown(seq);
  });
  return fileOf([...records, ...contents]);
}
const good = (name: string, parts: Parts): AuditCase => ({
  name: `good: evidence ${name}`,
  file: evidence(parts),
  exit: 0,
  code: null,
});
const bad = (name: string, code: string, parts: Parts | Buffer): AuditCase => {
  const file = Buffer.isBuffer(parts) ? parts : evidence(parts);
  return { name, file, exit: 1, code, record: file.toString().split('\n').length - 1 };
};
const hideType = (type: string, what: 'body' | 'line'): Parts => ({
  hide: (one) => (one === type ? what : 'nothing'),
});

export const evidenceCases: readonly AuditCase[] = [
  good('with its contents', { contents: [content('manifest', MANIFEST), binary('message.eml', DATED)] }),
  good('with a message without a date', { contents: [content('message.eml', FROZEN)] }),
  good('that was rejected', { steps: [requested, vote('usr_a', 'reject')] }),
  good('that policy granted', {
    steps: [requestedWith(0), ['ApprovalGranted', { data: { by: 'policy' } }], commit],
  }),
  good('with its policy and the preview', {
    steps: [policySet({ version: 2 }), policySet(), decided, ...USUAL],
    contents: [content('policy.json', policyText), content('preview.txt', 'One message will be sent.')],
  }),
  good('with votes soon after a password', {
    steps: [requestedWith(1), started, inSession('2026-01-01T00:15:00.000Z'), granted, commit],
  }),
  good('with a vote soon after the password was given again', {
    steps: [requestedWith(1), started, steppedUp, inSession('2026-01-01T01:00:00.000Z'), granted, commit],
  }),
  good('with a vote in a session of which nothing is shown', {
    steps: [requestedWith(1), inSession('2026-01-02T00:00:00.000Z'), granted, commit],
  }),
  {
    name: 'less: content_unproven',
    file: evidence({ contents: [content('notes.txt', 'a note')] }),
    exit: 3,
    code: 'content_unproven',
  },
  bad('43 a vote on another content', 'vote_hash', {
    steps: [requested, vote('usr_a'), vote('usr_b', 'approve', hashOf('x')), granted, commit],
  }),
  bad('43 a commit of another content', 'vote_hash', {
    steps: [...USUAL.slice(0, 4), ['CommitStarted', { data: { content_hash: hashOf('x') } }]],
  }),
  bad('43 a vote before the request', 'vote_hash', { steps: [vote('usr_a'), requested] }),
  bad('44 a vote after the commit', 'vote_after_commit', { steps: [...USUAL, vote('usr_c')] }),
  bad('45 one person twice', 'vote_repeated', {
    steps: [requested, vote('usr_a'), vote('usr_a'), granted, commit],
  }),
  bad('45 nobody twice', 'vote_repeated', {
    steps: [requested, vote(null), vote(null), granted, commit],
  }),
  bad('45 nobody for the quorum', 'quorum_unmet', {
    steps: [requestedWith(1), vote(null), granted, commit],
  }),
  bad('45 policy grants what needs votes', 'quorum_unmet', {
    steps: [requested, ['ApprovalGranted', { data: { by: 'policy' } }], commit],
  }),
  bad('45 granted by something else', 'quorum_unmet', {
    steps: [requestedWith(0), ['ApprovalGranted', { data: { by: 'chance' } }], commit],
  }),
  bad('45 a quorum of none', 'quorum_unmet', { steps: [requestedWith(0), granted, commit] }),
  bad('45 a vote after the password counted no longer', 'vote_not_fresh', {
    steps: [requestedWith(1), started, inSession('2026-01-01T00:15:00.001Z'), granted, commit],
  }),
  bad('45 a vote before the password was given again', 'vote_not_fresh', {
    steps: [requestedWith(1), started, inSession('2026-01-01T00:16:00.000Z'), steppedUp, granted, commit],
  }),
  bad('45 a vote at no time', 'vote_not_fresh', {
    steps: [requestedWith(1), started, inSession('at noon'), granted, commit],
  }),
  bad('45 fewer votes than the quorum', 'quorum_unmet', {
    steps: [requested, vote('usr_a'), vote('usr_b', 'reject'), granted, commit],
  }),
  bad('45 a commit before it was granted', 'quorum_unmet', { steps: [requested, vote('usr_a'), commit] }),
  bad('46 a line of the approval is covered', 'revision_gap', hideType('ApprovalVoteCast', 'line')),
  bad('46 a body of the approval is hidden', 'revision_gap', hideType('ApprovalVoteCast', 'body')),
  bad('46 no request', 'revision_gap', { steps: [] }),
  bad('46 two requests', 'revision_gap', { steps: [requested, requested] }),
  bad('46 a revision twice', 'revision_gap', {
    steps: [requested, ['ApprovalVoteCast', { revision: '0', data: { content_hash: HASH } }]],
  }),
  bad('47 a byte of the message', 'content_mismatch', {
    contents: [content('message.eml', DATED.replace('Body', 'Bodx'))],
  }),
  bad('47 a message with two dates', 'content_mismatch', {
    contents: [content('message.eml', `Date: 1\r\n${DATED}`)],
  }),
  bad('47 a message that no line froze', 'content_mismatch', {
    frozen: 0,
    contents: [content('message.eml', DATED)],
  }),
  bad('47 a message that two lines froze', 'content_mismatch', {
    frozen: 2,
    contents: [content('message.eml', DATED)],
  }),
  bad('47 a message whose line is hidden', 'content_mismatch', {
    ...hideType('DraftFrozen', 'body'),
    contents: [content('message.eml', DATED)],
  }),
  bad('47 another manifest', 'content_mismatch', { contents: [content('manifest', '{}')] }),
  bad('47 a manifest of another message', 'content_mismatch', {
    steps: [
      requestedWith(2, hashOf(OTHER)),
      ...['usr_a', 'usr_b'].map((by) => vote(by, 'approve', hashOf(OTHER))),
    ],
    contents: [content('manifest', OTHER), content('message.eml', DATED)],
  }),
  bad('47 another policy', 'content_mismatch', {
    steps: [policySet(), decided, ...USUAL],
    contents: [content('policy.json', policyText.replace('four', 'two'))],
  }),
  bad('47 another version of the policy', 'content_mismatch', {
    steps: [policySet({ ...POLICY, version: 2 }), decided, ...USUAL],
    contents: [content('policy.json', policyText.replace('3', '2'))],
  }),
  bad('47 the policy of another organisation', 'content_mismatch', {
    steps: [policySet(POLICY, 'policy-org_other'), decided, ...USUAL],
    contents: [content('policy.json', policyText)],
  }),
  bad('47 a policy although no line says which', 'content_mismatch', {
    steps: [policySet(), ...USUAL],
    contents: [content('policy.json', policyText)],
  }),
  ...(() => {
    const at = (name: string, code: string, back: number, contents: readonly Entry[]): AuditCase => {
      const one = bad(name, code, { contents });
      return { ...one, record: (one.record ?? 0) - back };
    };
    return [
      at('47 the hash of a content', 'content_mismatch', 1, [content('manifest', MANIFEST, { text: '{}' })]),
      at('47 a content twice', 'content_mismatch', 1, [
        content('manifest', MANIFEST),
        content('manifest', MANIFEST),
      ]),
      at('47 a content with a lone surrogate', 'content_mismatch', 1, [content('manifest', '\ud800')]),
      at('51 pad bits of a content', 'base64_invalid', 1, [
        { t: 'content', name: 'manifest', sha256: hashOf('a'), base64: 'YR==' },
      ]),
      at('a cover after a content', 'record_position', 1, [
        content('manifest', MANIFEST),
        { t: 'cover', from: 0, level: 0, hash: Buffer.alloc(32).toString('base64') },
      ]),
    ];
  })(),
];
