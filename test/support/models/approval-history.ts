/** A history of approvals: each step runs on the real gateway and on the model. */
import { discardDraftCapability } from '../../../commands/drafts/discard-draft.ts';
import { draft } from '../../../commands/drafts/draft.ts';
import { patchDraftCapability } from '../../../commands/drafts/edit-draft.ts';
import { sendDraftCapability } from '../../../commands/sending/send-draft.ts';
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import { loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { PolicyRule } from '../../../commands/values/policy-document.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { ApprovalStatus } from '../../../commands/operations/approval-state.ts';
import { approvalStatusOf } from '../../../commands/operations/approval-reply.ts';
import { operation } from '../../../commands/operations/operation.ts';
import { ApprovalCalls } from './approval-calls.ts';
import { statusInStream } from './approval-invariants.ts';
import * as model from './approval-model.ts';
import type { ModelApproval } from './approval-model.ts';
import type { Step, StepOf, Steps } from './approval-steps.ts';
import {
  admit,
  type Course,
  type Kind,
  type ModelWorld,
  POLICIES,
  type PolicyName,
} from './approval-terms-model.ts';
import { AGENT, ApprovalWorld, type Asked, askedBy, MAILBOX } from '../worlds/approval-world.ts';
import { type Course as Exchange, LATER_AT_CONNECT, NEVER } from '../fakes/fake-submission.ts';
import { memoryPorts } from '../worlds/memory-gateway.ts';
import { shortSleep } from '../fakes/short-sleep.ts';

/** An approval of the model and the real one. */
interface Pair {
  readonly model: ModelApproval;
  readonly real: Asked;
  readonly uid: number | null;
  readonly draftId: string | null;
}

/** One run of a history: the gateway and the model get the same steps. */
export class ApprovalHistory {
  readonly #world: ApprovalWorld;
  readonly #ports: Ports;
  readonly #clock: ReturnType<typeof memoryPorts>['clock'];
  readonly #calls: ApprovalCalls;
  readonly #model: ModelWorld;
  readonly pairs: Pair[] = [];
  /** Writes without a commit that was begun. */
  readonly unintended: string[] = [];
  readonly #writes = new Map<number, number>();

  private constructor(world: ApprovalWorld, parts: ReturnType<typeof memoryPorts>, ports: Ports) {
    this.#world = world;
    this.#ports = ports;
    this.#clock = parts.clock;
    this.#calls = new ApprovalCalls(world, ports);
    this.#model = {
      now: parts.clock.now().getTime(),
      policy: 'one',
      grant: 'whole',
      isRemoved: false,
      course: 'fine',
    };
    world.server.onWrite = ({ uids }) => this.#noteWrite(uids);
    world.submission.at = (step) => (step === 'transmit' ? this.#noteSend() : undefined);
  }

  static async begin(): Promise<ApprovalHistory> {
    const parts = memoryPorts();
    const world = await ApprovalWorld.open(parts.ports);
    // No step here takes long enough to be answered late; only the steps move the time.
    const clock = {
      now: () => parts.clock.now(),
      elapsedMs: () => parts.clock.elapsedMs(),
      sleep: shortSleep,
    };
    const history = new ApprovalHistory(world, parts, world.reachedFrom({ ...parts.ports, clock }));
    await world.setPolicy(history.#ports, [ruleOf('one')]);
    return history;
  }

  /** Runs the step on both sides; throws when the model does not allow the answer. */
  async take(step: Step): Promise<void> {
    const course = 'course' in step ? step.course : 'fine';
    this.#model.course = course;
    this.#world.server.failure = course === 'away' ? AWAY : null;
    this.#world.server.mailbox.breakNext =
      course === 'lost_undone' ? 'before' : course === 'lost_done' ? 'after' : null;
    this.#world.submission.course = EXCHANGES[course];
    // A step's name determines its type; the compiler cannot connect the two.
    await (this.#steps[step.do] as (step: Step) => Promise<void>)(step);
    this.#world.server.mailbox.breakNext = null;
    this.#clock.advance(1);
    this.#model.now += 1;
  }

  readonly #steps: { readonly [Do in keyof Steps]: (step: StepOf<Do>) => Promise<void> } = {
    ask: (step) => this.#ask(step),
    policy: async ({ policy }) => {
      this.#model.policy = policy;
      await this.#world.setPolicy(this.#ports, [ruleOf(policy)]);
    },
    grant: async ({ grant }) => {
      if (this.#model.isRemoved) return;
      this.#model.grant = grant;
      for (const { model: approval } of this.pairs) approval.isGrantGone = true;
      await this.#world.grant(this.#ports, grant);
    },
    remove_mailbox: async () => {
      if (!this.#model.isRemoved) await this.#world.removeMailbox(this.#ports);
      this.#model.isRemoved = true;
    },
    pass: async () => {
      for (const { real, model: approval } of this.pairs) {
        await this.#calls.pass(real);
        model.pass(this.#model, approval);
      }
    },
    vote: (step) =>
      this.#with(step, async ({ model: approval, real }) => {
        const content_hash = step.isRightHash ? real.contentHash : WRONG_HASH;
        const ballot = { decision: step.decision, content_hash, ...(step.hasReason ? { reason: 'so' } : {}) };
        const refused = model.vote(this.#model, approval, step);
        await expectAnswer(refused, this.#calls.vote(step.by, real, ballot), step);
      }),
    commit: (step) =>
      this.#with(step, async ({ model: approval, real }) => {
        const hash = { right: real.contentHash, wrong: WRONG_HASH, none: undefined }[step.hash];
        const refused = model.commitBy(this.#model, approval, step);
        await expectAnswer(refused, this.#calls.commit(step.by, real, hash), step);
      }),
    cancel: (step) =>
      this.#with(step, async ({ model: approval, real }) => {
        const refused = model.cancelBy(this.#model, approval, step.by);
        await expectAnswer(refused, this.#calls.cancel(step.by, real), step);
      }),
    resolve: (step) =>
      this.#with(step, async ({ model: approval, real }) => {
        const refused = model.resolve(approval, step.word);
        await expectAnswer(refused, this.#calls.resolve('usr_olga', real, step.word), step);
      }),
    take_away: (step) =>
      this.#with(step, ({ model: approval, uid }) => {
        if (!model.isOpen(approval.status) || uid === null) return;
        approval.isTargetGone = true;
        this.#world.server.mailbox.folder('INBOX').messages.delete(uid);
      }),
    draft: (step) => this.#with(step, (pair) => this.#changeDraft(step, pair)),
    wait: (step) =>
      this.#with(step, ({ model: approval }) => {
        this.#wait(step.until, approval);
      }),
  };

  /** Runs the work on one of the approvals; does nothing while there is none. */
  async #with({ at }: { readonly at: number }, work: (pair: Pair) => Promise<void> | void): Promise<void> {
    const pair = this.pairs[this.pairs.length - 1 - (at % Math.max(1, this.pairs.length))];
    if (pair) await work(pair);
  }

  async #changeDraft(step: StepOf<'draft'>, pair: Pair): Promise<void> {
    const { model: approval, draftId } = pair;
    if (draftId === null) return;
    const { change } = step;
    if (change !== 'send') {
      const refused = model.changeDraft(this.#model, approval, change === 'edit' ? 'open' : 'discarded');
      await expectAnswer(refused, this.#onDraft(draftId, change), step);
    } else if (model.isOpen(this.modelStatus(pair)) && !this.#model.isRemoved) {
      await expectAnswer(['approval_pending'], this.#onDraft(draftId, change), step);
    }
  }

  /** Run by the person behind the agent, whatever happens to the agent's own grant. */
  #onDraft(draftId: string, what: 'edit' | 'discard' | 'send'): Promise<unknown> {
    const on = { draft_id: draftId };
    const calls = {
      edit: [patchDraftCapability, { ...on, text: 'Another text.' }],
      discard: [discardDraftCapability, on],
      send: [sendDraftCapability, on],
    } as const;
    return this.#world.invoke(this.#ports, 'usr_olga', calls[what]);
  }

  async #ask({ kind, mode, isNamed }: StepOf<'ask'>): Promise<void> {
    const admission = admit(this.#model, kind, mode);
    // Out of scope: operations that run without approval, and drafts in a removed mailbox.
    if (kind === 'send' && (this.#model.isRemoved || admission === 'runs')) return;
    const { operation, uid, draftId } = await this.#subject(kind, isNamed);
    const input = { mailbox_id: MAILBOX, operation, authorization: { mode, reason: 'tidy up' } };
    const asking = this.#world.invoke(this.#ports, AGENT, [actOnEmail, input]);
    const refused = admission !== 'runs' && 'refused' in admission ? admission.refused : [];
    const reply = await expectAnswer(refused, asking, { do: 'ask', kind, mode });
    if (reply === null || admission === 'runs' || !('approval' in admission)) return;
    const approval = model.newApproval(this.#model, kind, isNamed, admission.approval);
    this.pairs.push({ model: approval, real: askedBy(reply), uid, draftId });
  }

  /** A new message or draft to request something for. */
  async #subject(kind: Kind, isNamed: boolean) {
    if (kind === 'send') {
      const draftId = await this.#world.startDraft(this.#ports, 'usr_olga');
      return { operation: { type: 'draft_send', draft_id: draftId }, uid: null, draftId };
    }
    const { id, uid } = this.#world.arrive(this.#ports, isNamed);
    const operation = { type: 'message_actions', select: { message_ids: [id] }, actions: [{ type: kind }] };
    return { operation, uid, draftId: null };
  }

  #wait(until: Steps['wait']['until'], { expiresAt, commitAt }: ModelApproval): void {
    const { now } = this.#model;
    const target = {
      soon: now + 45_000,
      just_before: expiresAt - 1,
      deadline: expiresAt,
      due: commitAt ?? now,
      day: now + 86_400_000,
    }[until];
    const milliseconds = Math.max(0, target - now);
    this.#clock.advance(milliseconds);
    this.#model.now += milliseconds;
  }

  async #noteWrite(uids: readonly number[]): Promise<void> {
    for (const { uid, real } of this.pairs) {
      if (uid === null || !uids.includes(uid)) continue;
      if (this.#model.course !== 'lost_undone') this.#writes.set(uid, (this.#writes.get(uid) ?? 0) + 1);
      const events = await this.streamOf(real);
      if (statusInStream(events) !== 'committing') this.unintended.push(real.operationId);
    }
  }

  /** Independent of the approval: no mail may be sent while no send is being committed. */
  async #noteSend(): Promise<void> {
    const sends = this.pairs.filter(({ draftId }) => draftId !== null);
    const statuses = await Promise.all(
      sends.map(async ({ real }) => statusInStream(await this.streamOf(real))),
    );
    if (!statuses.includes('committing')) this.unintended.push('a send');
  }

  streamOf({ operationId }: Asked): Promise<readonly StoredEvent[]> {
    return this.#ports.events.readStream(`operation-${operationId}`);
  }

  async statusOf({ operationId }: Asked): Promise<ApprovalStatus | null> {
    const { state } = await loadAggregate(this.#ports.events, operation, operationId);
    return approvalStatusOf(state, this.#clock.now());
  }

  modelStatus({ model: approval }: Pair): ApprovalStatus {
    return model.statusAt(approval, this.#model.now);
  }

  /** Null for an approval of messages. */
  async draftStatusOf({ draftId }: Pair): Promise<string | null> {
    return draftId === null ? null : (await loadAggregate(this.#ports.events, draft, draftId)).state.status;
  }

  draftsAllowed({ model: approval }: Pair): readonly string[] {
    return model.draftsAt(approval, this.#model.now);
  }

  /** How often the mail server, or the submission server, executed it. */
  effectsOf({ uid, draftId }: Pair): number {
    return draftId === null ? (this.#writes.get(uid ?? -1) ?? 0) : this.#world.sentOf(draftId);
  }

  /** True when the gateway has moved the message, or sent the mail. */
  isDone({ uid, draftId, model: approval }: Pair): boolean {
    if (draftId !== null) return this.#world.sentOf(draftId) > 0;
    if (approval.isTargetGone || uid === null) return false;
    return !this.#world.server.mailbox.folder('INBOX').messages.has(uid);
  }
}

const EXCHANGES: Readonly<Record<Course, Exchange>> = {
  fine: { kind: 'accept' },
  away: LATER_AT_CONNECT,
  never: NEVER,
  lost_undone: { kind: 'lost', taken: false },
  lost_done: { kind: 'lost', taken: true },
};

const WRONG_HASH = '0'.repeat(64);
const AWAY = new GatewayError('mailbox_unavailable', 'The mail server is away.');

const ruleOf = (name: PolicyName): PolicyRule => ({
  id: name,
  when: { actions: ['archive', 'expunge', 'send'] },
  then: POLICIES[name],
});

/** The answer, or null for one of the refusals; none = it must succeed. Else throws, naming the step. */
async function expectAnswer<Answer>(
  refused: readonly string[],
  asking: Promise<Answer>,
  step: object,
): Promise<Answer | null> {
  try {
    const answer = await asking;
    if (refused.length > 0)
      throw new Error(`${JSON.stringify(step)} is to be refused with ${refused.join(' or ')}`);
    return answer;
  } catch (error) {
    if (error instanceof GatewayError && refused.includes(error.code)) return null;
    if (error instanceof GatewayError)
      throw new Error(
        `${JSON.stringify(step)} met ${error.code}: ${error.message}; allowed: ${refused.join()}`,
        { cause: error },
      );
    throw error;
  }
}
