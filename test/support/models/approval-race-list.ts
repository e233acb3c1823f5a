/** Pairs of calls on one approval at the same moment in two gateways, and their possible outcomes. */
import { setTimeout } from 'node:timers/promises';
import { endOverdue } from '../../../commands/approvals/invalidate-missing-targets.ts';
import { discardDraftCapability } from '../../../commands/drafts/discard-draft.ts';
import { patchDraftCapability } from '../../../commands/drafts/edit-draft.ts';
import { sendDraftCapability } from '../../../commands/sending/send-draft.ts';
import type { PolicyEffect } from '../../../commands/values/policy-document.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import { POLICIES } from './approval-terms-model.ts';
import type { Side } from './races.ts';
import type { Race, Raced, RaceWorld, Replica, Scene, Verdict } from './approval-races.ts';
import { AGENT, type CallerId, MAILBOX, ORG, type PersonId } from '../worlds/approval-world.ts';

type Does = Race['left'];

const commit =
  (by: CallerId): Does =>
  (scene, { calls }) =>
    calls.commit(by, scene, scene.contentHash);

const vote =
  (by: PersonId, decision: 'approve' | 'reject' = 'approve'): Does =>
  (scene, { calls }) =>
    calls.vote(by, scene, { decision, content_hash: scene.contentHash, reason: 'so' });

const cancel: Does = (scene, { calls }) => calls.cancel('usr_bert', scene);

const ofDraft =
  (capability: typeof patchDraftCapability | typeof sendDraftCapability, change: object = {}): Does =>
  ({ draftId }, { ports }, { world }) =>
    world.invoke(ports, AGENT, [capability, { draft_id: draftId, ...change }]);

const edit = ofDraft(patchDraftCapability, { text: 'Another text.' });

/** The gateway's own work, for any requester. */
const work: Does = (scene, { calls }) => calls.pass(scene);

/** Waits for the expiry of the approval, and records it. */
const expire: Does = async (scene, { ports }, { clock }) => {
  const over = await expiryOf(scene, ports);
  await setTimeout(Math.max(0, over - clock.now().getTime()));
  await endOverdue(ports, { operationId: scene.operationId, orgId: ORG });
};

async function expiryOf({ operationId }: Scene, { events }: Replica['ports']): Promise<number> {
  const stored = await events.readStream(`operation-${operationId}`);
  const granted = stored.find(({ type }) => type === 'ApprovalGranted');
  return Date.parse(String(granted?.data['commit_by']));
}

const find = (events: readonly StoredEvent[], type: string): StoredEvent | undefined =>
  events.find((event) => event.type === type);

const actorOf = (event: StoredEvent | undefined): string =>
  (event?.metadata['actor'] as { id: string } | undefined)?.id ?? 'nobody';

/** The first succeeded, and the second was refused as too late. */
const oneOf = (winner: Side, { left, right }: Raced, refusals: readonly string[]): Verdict => {
  const [first, second] = winner === 'left' ? [left, right] : [right, left];
  return { winner, isFair: first === 'done' && refusals.includes(second) };
};

const TOO_LATE = ['approval_not_pending'];
const BY_HAND: PolicyEffect = POLICIES.by_hand;
const TWO: PolicyEffect = { ...POLICIES.two, auto_commit: false };
const APPROVED: readonly PersonId[] = ['usr_anna'];

/** Either the commit begins, or the other end comes first. */
const againstCommit =
  (end: string, refused: readonly string[], isTooLate: readonly string[] = TOO_LATE) =>
  (raced: Raced): Verdict =>
    raced.status === 'committed'
      ? oneOf('left', raced, isTooLate)
      : {
          ...oneOf('right', raced, refused),
          isFair: raced.status === end && oneOf('right', raced, refused).isFair,
        };

const onMessages: readonly Race[] = [
  {
    title: 'a commit and a cancel',
    kind: 'archive',
    policy: BY_HAND,
    approvedBy: APPROVED,
    left: commit(AGENT),
    right: cancel,
    judge: againstCommit('cancelled', TOO_LATE),
  },
  {
    title: 'two commits',
    kind: 'archive',
    policy: BY_HAND,
    approvedBy: APPROVED,
    left: commit(AGENT),
    right: commit('usr_olga'),
    judge: (raced) =>
      oneOf(actorOf(find(raced.events, 'CommitStarted')) === AGENT ? 'left' : 'right', raced, TOO_LATE),
  },
  {
    title: 'two workers that come upon what is due',
    isExtra: true,
    kind: 'archive',
    policy: { ...POLICIES.held_at_once, undo_seconds: 60 },
    approvedBy: APPROVED,
    ready: (world) => {
      world.clock.advance(60_000);
      return Promise.resolve();
    },
    left: work,
    right: work,
    judge: ({ events, left, right, status }, world) => {
      const runId = find(events, 'CommitStarted')?.data['run_id'];
      const isFair = left === 'done' && right === 'done' && status === 'committed';
      return { winner: runId === world.left.ports.leases.runId ? 'left' : 'right', isFair };
    },
  },
  {
    title: 'a commit and the end of its time',
    kind: 'archive',
    policy: { ...POLICIES.hurried, auto_commit: false },
    approvedBy: APPROVED,
    ready: async (world, scene, { leadMs }) => {
      const left = (await expiryOf(scene, world.left.ports)) - world.clock.now().getTime();
      // Waiting for the expiry cannot get a head start; the expiry itself comes earlier or later.
      world.clock.advance(left - SOON_MS + Math.min(SOON_MS, leadMs));
    },
    left: commit(AGENT),
    right: expire,
    judge: (raced) =>
      raced.status === 'committed'
        ? { winner: 'left', isFair: raced.left === 'done' && raced.right === 'done' }
        : { ...oneOf('right', raced, ['approval_expired']) },
  },
  {
    title: 'a commit and the loss of the grant',
    kind: 'archive',
    policy: BY_HAND,
    approvedBy: APPROVED,
    left: commit('usr_olga'),
    right: (_, { ports }, { world }) => world.grant(ports, 'none'),
    judge: judgeRevoked,
    after: async (world) => {
      await world.bothKnow(await world.world.grant(world.left.ports, 'whole'));
    },
  },
  {
    title: 'two approvals where one is enough',
    kind: 'archive',
    policy: BY_HAND,
    approvedBy: [],
    left: vote('usr_anna'),
    right: vote('usr_bert'),
    judge: (raced) =>
      oneOf(
        actorOf(find(raced.events, 'ApprovalVoteCast')) === 'usr_anna' ? 'left' : 'right',
        raced,
        TOO_LATE,
      ),
  },
  {
    title: 'two approvals where both are wanted',
    kind: 'archive',
    policy: TWO,
    approvedBy: [],
    left: vote('usr_anna'),
    right: vote('usr_bert'),
    judge: ({ events, left, right, status }) => ({
      winner: actorOf(find(events, 'ApprovalVoteCast')) === 'usr_anna' ? 'left' : 'right',
      isFair: left === 'done' && right === 'done' && status === 'pending_commit',
    }),
  },
  {
    title: 'two approvals of one person where two people are wanted',
    kind: 'archive',
    policy: TWO,
    approvedBy: [],
    left: (scene, { calls }) => calls.vote('usr_anna', scene, approval(scene, 'left')),
    right: (scene, { calls }) => calls.vote('usr_anna', scene, approval(scene, 'right')),
    judge: async ({ events, left, right, status }, { left: { ports } }) => {
      const reason = String(find(events, 'ApprovalVoteCast')?.data['reason']);
      const winner = (await ports.personal.open(reason as never)) === 'left' ? 'left' : 'right';
      return { winner, isFair: left === 'done' && right === 'done' && status === 'awaiting_approval' };
    },
  },
  {
    title: 'an approval and a rejection',
    kind: 'archive',
    policy: BY_HAND,
    approvedBy: [],
    left: vote('usr_anna'),
    right: vote('usr_bert', 'reject'),
    // A rejection counts until something runs; after it no vote can approve.
    judge: ({ events, status, left, right }) => {
      const winner = actorOf(find(events, 'ApprovalVoteCast')) === 'usr_anna' ? 'left' : 'right';
      const first = winner === 'left' ? left === 'done' : TOO_LATE.includes(left);
      return { winner, isFair: status === 'rejected' && right === 'done' && first };
    },
  },
  {
    title: 'an approval that is committed at once and a cancel',
    isExtra: true,
    kind: 'archive',
    policy: POLICIES.at_once,
    approvedBy: [],
    left: vote('usr_anna'),
    right: cancel,
    judge: (raced) =>
      raced.status === 'committed'
        ? oneOf('left', raced, TOO_LATE)
        : { winner: 'right', isFair: raced.right === 'done' && ['done', ...TOO_LATE].includes(raced.left) },
  },
];

/** Long enough to begin before it. */
const SOON_MS = 8;

const approval = ({ contentHash: content_hash }: Scene, reason: string) =>
  ({ decision: 'approve', content_hash, reason }) as const;

/** The other gateway receives it within a second. */
async function judgeRevoked(raced: Raced, { left: { ports } }: RaceWorld): Promise<Verdict> {
  const { events, status, left, right } = raced;
  const revoked = await ports.events.readLast(`mailbox-${MAILBOX}`);
  const begun = find(events, 'CommitStarted');
  if (status !== 'committed') {
    const isFair = right === 'done' && left === 'approval_invalidated' && status === 'invalidated';
    return { winner: 'right', isFair };
  }
  const lateMs = Number(begun?.storedAt) - Number(revoked?.storedAt);
  return { winner: 'left', isFair: right === 'done' && left === 'done' && lateMs < 1_000 };
}

const LOCKED = ['draft_locked', 'approval_pending'];

const onDrafts: readonly Race[] = [
  {
    title: 'the commit of a send and an edit of its draft',
    kind: 'send',
    policy: BY_HAND,
    approvedBy: APPROVED,
    left: commit(AGENT),
    right: edit,
    judge: againstCommit('superseded', ['approval_invalidated'], LOCKED),
  },
  {
    title: 'the commit of a send and the end of its draft',
    isExtra: true,
    kind: 'send',
    policy: BY_HAND,
    approvedBy: APPROVED,
    left: commit(AGENT),
    right: (scene, { ports }, { world }) =>
      world.invoke(ports, AGENT, [discardDraftCapability, { draft_id: scene.draftId }]),
    judge: againstCommit('invalidated', ['approval_invalidated'], LOCKED),
  },
  {
    title: 'the commit of a send and a direct send',
    kind: 'send',
    policy: POLICIES.allow,
    approvedBy: [],
    left: commit(AGENT),
    right: ofDraft(sendDraftCapability),
    judge: (raced) => oneOf('left', raced, LOCKED),
    always: 'left',
  },
  {
    title: 'two commits of a send',
    isExtra: true,
    kind: 'send',
    policy: BY_HAND,
    approvedBy: APPROVED,
    left: commit(AGENT),
    right: commit('usr_olga'),
    judge: (raced) =>
      oneOf(actorOf(find(raced.events, 'CommitStarted')) === AGENT ? 'left' : 'right', raced, TOO_LATE),
  },
];

export const APPROVAL_RACES: readonly Race[] = [...onMessages, ...onDrafts];
