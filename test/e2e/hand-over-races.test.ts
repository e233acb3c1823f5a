/** An agent is handed to another member on one gateway while it asks for something on the other. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { patchDraftCapability } from '../../commands/drafts/edit-draft.ts';
import { startDraftCapability } from '../../commands/drafts/start-draft.ts';
import { actOnEmail } from '../../commands/email/act-on-email.ts';
import { callerOf } from '../../commands/kernel/access.ts';
import type { Capability } from '../../commands/kernel/capability.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { callerBehind } from '../../commands/kernel/live-caller.ts';
import { progressAt } from '../../commands/operations/approval-reply.ts';
import { approvalIdOf, operation } from '../../commands/operations/operation.ts';
import { leftBehind, settleDeparture } from '../../commands/organisation/departures.ts';
import { updateAgent } from '../../commands/organisation/manage-agents.ts';
import { createToken } from '../../commands/organisation/manage-tokens.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { sendDraftCapability } from '../../commands/sending/send-draft.ts';
import { MAILBOX_SCOPES } from '../../commands/values/scopes.ts';
import { brokenApprovalRules } from '../support/models/approval-invariants.ts';
import { RaceWorld } from '../support/models/approval-races.ts';
import { POLICIES } from '../support/models/approval-terms-model.ts';
import { type Ending, endingOf } from '../support/models/member-race-world.ts';
import { Racecourse } from '../support/models/races.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';
import { AGENT, DECIDERS, MAILBOX, type PersonId } from '../support/worlds/approval-world.ts';
import { invokeAs } from '../support/worlds/invoke-as.ts';

const TIMES = timesOf(50, 1_000);
/** A replica may lack a change of rights for a second; the rest is room for a busy machine. */
const LATE_MS = 3_000;
/** What a request of a former token is refused with. */
const REFUSED = ['token_revoked', 'not_found', 'insufficient_scope'];

type Call = readonly [capability: Capability, input: object];

interface Wish {
  readonly title: string;
  readonly policy: keyof typeof POLICIES;
  readonly of: (target: { readonly messageId: string; readonly draftId: string }) => Call;
}

const acting = (operation: object): Call => [
  actOnEmail,
  { mailbox_id: MAILBOX, operation, authorization: { mode: 'execute_or_request_approval' } },
];
const WISHES: readonly Wish[] = [
  {
    title: 'an approval of an action',
    policy: 'by_hand',
    of: ({ messageId }) =>
      acting({
        type: 'message_actions',
        select: { message_ids: [messageId] },
        actions: [{ type: 'archive' }],
      }),
  },
  {
    title: 'an approval of a send',
    policy: 'by_hand',
    of: ({ draftId }) => acting({ type: 'draft_send', draft_id: draftId }),
  },
  { title: 'a send', policy: 'allow', of: ({ draftId }) => [sendDraftCapability, { draft_id: draftId }] },
];

describe('two gateways with an agent that is handed over', function () {
  this.timeout(timesOf(120_000, 3_600_000));
  let world: RaceWorld;
  let owner: PersonId = 'usr_olga';

  before(async () => {
    world = await RaceWorld.open();
  });
  after(() => world[Symbol.asyncDispose]());

  const inAWeek = (): string => new Date(Date.now() + 7 * 86_400_000).toISOString();
  /** Both directories have the last event of this stream. */
  const bothKnow = async (stream: string): Promise<void> => {
    const last = await world.left.ports.events.readLast(stream);
    await world.bothKnow(last?.position ?? null);
  };
  const newToken = async (): Promise<string> => {
    const terms = { name: 'T', surface: 'rest', scopes: MAILBOX_SCOPES, expires_at: inAWeek() };
    const call: Call = [createToken, { ...terms, principal_id: AGENT }];
    const { id } = await world.world.invoke<{ id: string }>(world.left.ports, owner, call);
    await bothKnow(`token-${id}`);
    return id;
  };
  const asAgent = async (ports: Ports, tokenId: string, call: Call): Promise<unknown> => {
    const { directory, clock } = ports;
    const token = directory.state.tokens.get(tokenId);
    if (!token) throw new Error(`there is no ${tokenId}`);
    const caller = callerBehind(directory.state, token, clock.now());
    return (await invokeAs(ports, caller, call, { idempotencyKey: randomUUID() })).output;
  };
  const newDraft = async (tokenId: string, subject: string): Promise<string> => {
    const input = { mailbox_id: MAILBOX, to: ['bob@example.org'], subject, text: 'Hello.' };
    return ((await asAgent(world.left.ports, tokenId, [startDraftCapability, input])) as { id: string }).id;
  };

  /** The background work of one gateway. */
  const settle = async (operationIds: readonly string[]): Promise<void> => {
    const { ports, calls } = world.right;
    for (const departure of leftBehind(ports.directory.state, ports.clock.now()))
      await settleDeparture(ports, departure);
    for (const operationId of operationIds)
      await calls.pass({ operationId, approvalId: approvalIdOf(operationId), contentHash: '' });
  };

  /** What became of everything that was requested since: one sentence for each rule that is broken. */
  const brokenOperations = async (since: bigint, handedAt: number): Promise<readonly string[]> => {
    const { events, clock } = world.right.ports;
    const written = await events.readAll(since, 1_000);
    const submitted = written.filter(({ type }) => type === 'OperationSubmitted');
    const ids = submitted.map(({ streamName }) => streamName.slice('operation-'.length));
    await bothKnow(`agent-${AGENT}`);
    await settle(ids);
    const broken = submitted.flatMap(({ storedAt }) =>
      Number(storedAt) - handedAt > LATE_MS ? ['requested long after the hand-over'] : [],
    );
    for (const id of ids) {
      const { state } = await loadAggregate(events, operation, id);
      const progress = progressAt(state, clock.now());
      if (!['completed', 'not_run', 'failed'].includes(progress)) broken.push(`an operation is ${progress}`);
      if (state.approval && progress !== 'not_run')
        broken.push(`an approval of the former owner is ${progress}`);
      if (state.approval)
        broken.push(...brokenApprovalRules(await events.readStream(`operation-${id}`), DECIDERS));
    }
    return broken;
  };

  /** The former token has ended, in the log too, and the agent is the heir's. */
  const brokenRights = async (tokenId: string, heir: PersonId): Promise<readonly string[]> => {
    await bothKnow(`token-${tokenId}`);
    const { directory, clock } = world.right.ports;
    const token = directory.state.tokens.get(tokenId);
    return [
      ...(directory.state.agents.get(AGENT)?.ownerId === heir ? [] : ['the agent has another owner']),
      ...(token?.revokedAt ? [] : ['the former token was not revoked']),
      ...(token && callerOf(directory.state, token, clock.now()) ? ['the former token counts'] : []),
    ];
  };

  /** It was sent as often as wanted; if not at all, the agent goes on with it under its new owner. */
  const brokenDraft = async (
    draftId: string,
    subject: string,
    wanted: number,
  ): Promise<readonly string[]> => {
    const sent = world.world.submission.taken.filter(({ raw }) => raw.includes(subject)).length;
    const change: Call = [patchDraftCapability, { draft_id: draftId, text: 'Another text.' }];
    const isFree = await asAgent(world.left.ports, await newToken(), change).then(
      () => true,
      () => false,
    );
    return [
      ...(sent === wanted ? [] : [`${String(sent)} messages were sent`]),
      ...(isFree === (sent === 0) ? [] : [isFree ? 'a sent draft can be edited' : 'the draft stays locked']),
    ];
  };

  const round = async (
    wish: Wish,
    course: Racecourse,
  ): Promise<{ readonly isLeft: boolean; readonly broken: readonly string[] }> => {
    const heir: PersonId = owner === 'usr_olga' ? 'usr_mia' : 'usr_olga';
    const tokenId = await newToken();
    const subject = randomUUID();
    const draftId = await newDraft(tokenId, subject);
    const call = wish.of({ messageId: world.world.arrive(world.left.ports).id, draftId });
    const since = await world.left.ports.events.headPosition();
    const ended = await course.run<unknown>({
      left: () => asAgent(world.left.ports, tokenId, call),
      right: () =>
        world.world.invoke(world.right.ports, 'usr_olga', [updateAgent, { agent_id: AGENT, owner_id: heir }]),
    });
    const [left, right]: readonly Ending[] = ended.map(endingOf);
    const handed = await world.left.ports.events.readLast(`agent-${AGENT}`);
    owner = heir;
    const isLeft = left === 'done';
    const broken = [
      ...(await brokenOperations(since, Number(handed?.storedAt))),
      ...(right === 'done' ? [] : ['the hand-over was refused']),
      ...(isLeft || REFUSED.includes(left ?? '') ? [] : ['the request ended with another error']),
      ...(await brokenRights(tokenId, heir)),
      ...(await brokenDraft(draftId, subject, wish.policy === 'allow' && isLeft ? 1 : 0)),
    ];
    return { isLeft, broken: broken.map((each) => `${each} (${String(left)}, ${String(right)})`) };
  };

  for (const wish of WISHES) {
    it(`lose nothing that the agent requested at once: ${wish.title} ${verifies('contract:17:agent-changes', 'contract:2:departures')}`, async () => {
      await world.setPolicy(POLICIES[wish.policy]);
      const course = new Racecourse();
      const won = { left: 0, right: 0 };
      const broken: string[] = [];
      for (let time = 0; time < TIMES; time += 1) {
        const { isLeft, broken: found } = await round(wish, course);
        broken.push(...found);
        const winner = isLeft ? 'left' : 'right';
        won[winner] += 1;
        course.tell(winner);
      }
      figure(`a hand-over and ${wish.title}: ${String(TIMES)} races, won ${JSON.stringify(won)}`);
      expect(broken.join('\n')).to.equal('');
      expect(won.left, 'requested in time').to.be.above(0);
      expect(won.right, 'refused').to.be.above(0);
    });
  }
});
