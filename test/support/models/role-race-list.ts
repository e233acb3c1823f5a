/** A person who votes, or has voted, loses the role while the vote is to count. */
import { updateMember } from '../../../commands/organisation/manage-members.ts';
import { statusInStream } from './approval-invariants.ts';
import type { Race, RaceWorld } from './approval-races.ts';
import { POLICIES } from './approval-terms-model.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import { ORG, type PersonId } from '../worlds/approval-world.ts';

const VOTER: PersonId = 'usr_anna';

const give =
  (role: 'member' | 'approver'): Race['right'] =>
  async (_, { ports }, { world }) => {
    await world.invoke(ports, 'usr_olga', [updateMember, { user_id: VOTER, role }]);
  };

/** Before anybody looked. */
const takeAndReturn: Race['right'] = async (...given) => {
  await give('member')(...given);
  await give('approver')(...given);
};

const returnRole = async (world: RaceWorld): Promise<void> => {
  await give('approver')({} as never, world.left, world);
  const last = await world.left.ports.events.readLast(`organisation-${ORG}`);
  await world.bothKnow(last?.position ?? null);
};

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'done',
    (error: unknown) => (error as { readonly code: string }).code,
  );

const occurredAt = (event: StoredEvent | null | undefined): string => String(event?.metadata['occurred_at']);

/** Either the commit began before its process knew of the loss, or it was refused for ever. */
const committedInTime: Race['judge'] = async ({ events, status, left, right }, world) => {
  const last = await world.left.ports.events.readLast(`organisation-${ORG}`);
  const begun = events.find(({ type }) => type === 'CommitStarted');
  if (status !== 'committed') {
    const isFair = right === 'done' && left === 'approval_invalidated' && status === 'invalidated';
    return { winner: 'right', isFair };
  }
  const lateMs = Number(begun?.storedAt) - Number(last?.storedAt);
  return { winner: 'left', isFair: left === 'done' && right === 'done' && lateMs < 1_000 };
};

export const ROLE_RACES: readonly Race[] = [
  {
    title: "a commit and the loss of a voter's role",
    kind: 'archive',
    policy: POLICIES.by_hand,
    approvedBy: [VOTER],
    left: (scene, { calls }) => calls.commit('usr_olga', scene, scene.contentHash),
    right: give('member'),
    judge: committedInTime,
    after: returnRole,
  },
  {
    title: "a commit and a loss of a voter's role that is undone",
    kind: 'archive',
    policy: POLICIES.by_hand,
    approvedBy: [VOTER],
    left: (scene, { calls }) => calls.commit('usr_olga', scene, scene.contentHash),
    right: takeAndReturn,
    judge: committedInTime,
    after: returnRole,
  },
  {
    title: "a vote and the loss of the voter's role",
    kind: 'archive',
    policy: POLICIES.by_hand,
    approvedBy: [],
    left: (scene, { calls }) =>
      calls.vote(VOTER, scene, { decision: 'approve', content_hash: scene.contentHash, reason: 'so' }),
    right: give('member'),
    judge: async ({ scene, events, left, right }, world) => {
      const isCast = events.some(({ type }) => type === 'ApprovalVoteCast');
      const last = await world.left.ports.events.readLast(`organisation-${ORG}`);
      await world.bothKnow(last?.position ?? null);
      // The vote was in time or not: it counts no longer.
      const commit = await codeOf(world.right.calls.commit('usr_olga', scene, scene.contentHash));
      const status = statusInStream(await world.streamOf(scene));
      const isKept = right === 'done' && commit !== 'done' && status !== 'committed';
      const told = isCast ? 'done' : 'insufficient_scope';
      return { winner: isCast ? 'left' : 'right', isFair: isKept && left === told };
    },
    after: returnRole,
  },
  {
    title: "a vote and a loss of the voter's role that is undone",
    kind: 'archive',
    policy: POLICIES.by_hand,
    approvedBy: [],
    left: (scene, { calls }) =>
      calls.vote(VOTER, scene, { decision: 'approve', content_hash: scene.contentHash, reason: 'so' }),
    right: takeAndReturn,
    judge: async ({ scene, events, left, right }, world) => {
      const returned = await world.left.ports.events.readLast(`organisation-${ORG}`);
      await world.bothKnow(returned?.position ?? null);
      const vote = events.find(({ type }) => type === 'ApprovalVoteCast');
      const isAfter = vote !== undefined && occurredAt(vote) >= occurredAt(returned);
      const commit = await codeOf(world.right.calls.commit('usr_olga', scene, scene.contentHash));
      const told = vote === undefined ? 'insufficient_scope' : 'done';
      const isFair = right === 'done' && left === told && (commit === 'done') === isAfter;
      return { winner: vote === undefined || isAfter ? 'right' : 'left', isFair };
    },
    after: returnRole,
  },
];
