/** Drafts and their approvals (`contract.md` 10, both tables) against random histories of people, servers and crashes. */
import { commitAtOf, endOf } from '../../../../commands/operations/approval-state.ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { patchDraftCapability } from '../../../../commands/drafts/edit-draft.ts';
import { discardDraftCapability } from '../../../../commands/drafts/discard-draft.ts';
import type { DraftState } from '../../../../commands/drafts/draft.ts';
import { endOverdue } from '../../../../commands/approvals/invalidate-missing-targets.ts';
import { settleReview } from '../../../../commands/drafts/end-review.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import type { DraftStatus } from '../../../../commands/operations/draft-shape.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { approvalStatusOf } from '../../../../commands/operations/approval-reply.ts';
import { brokenApprovalRules } from '../../../support/models/approval-invariants.ts';
import { brokenEnvelopeRules } from '../../../support/models/envelope-rules.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { dyingAfter, dyingBefore } from '../../../support/fakes/dying-ports.ts';
import {
  type Course,
  LATER_AT_DATA,
  LATER_AT_ENVELOPE,
  NEVER,
} from '../../../support/fakes/fake-submission.ts';
import { timesOf } from '../../../support/suite/long.ts';

const COURSES = {
  accept: { kind: 'accept' },
  never: NEVER,
  later: LATER_AT_ENVELOPE,
  laterAtDot: LATER_AT_DATA,
  lostTaken: { kind: 'lost', taken: true },
  lostUntaken: { kind: 'lost', taken: false },
} as const satisfies Record<string, Course>;
type CourseName = keyof typeof COURSES;

const ANY_OF_DRAFT = /^(?:Draft(?:Frozen|Released|Edited|Discarded|Sen)|SendPostponed)/;
const ANY_OF_APPROVAL = /^(?:Approval(?!Vote)|CommitAttemptFailed|SendOutcome)/;
/** The append with which, or right before which, the process dies. */
const LOSSES = {
  draftUnrecorded: (ports: Ports) => dyingBefore(ports, ANY_OF_DRAFT),
  draftRecorded: (ports: Ports) => dyingAfter(ports, ANY_OF_DRAFT),
  approvalUnrecorded: (ports: Ports) => dyingBefore(ports, ANY_OF_APPROVAL),
  locked: (ports: Ports) => dyingAfter(ports, /^CommitStarted$/),
  begun: (ports: Ports) => dyingAfter(ports, /^SendStarted$/),
  dataOut: (ports: Ports) => dyingAfter(ports, /^SendDataBegun$/),
} as const;
type Loss = keyof typeof LOSSES;

const VERBS = ['ask', 'approve', 'reject', 'commit', 'cancel', 'edit', 'discard', 'tick'] as const;
type Verb = (typeof VERBS)[number];
type Step =
  | { readonly do: Verb; readonly course: CourseName; readonly loss: Loss | null }
  | { readonly do: 'wait'; readonly minutes: number };

const histories: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom(...VERBS, 'ask' as const, 'approve' as const, 'commit' as const),
        course: fc.constantFrom(...(Object.keys(COURSES) as CourseName[])),
        loss: fc.option(fc.constantFrom(...(Object.keys(LOSSES) as Loss[])), { freq: 2 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        minutes: fc.constantFrom(1, 16, 70, 1_500),
      }),
    },
  ),
  { minLength: 3, maxLength: 16 },
);

/** One step may pass through several states: released and frozen again, started and sent. */
const SENT: readonly DraftStatus[] = ['sending', 'in_review', 'sent', 'send_failed', 'send_unknown'];
const NO_CHANGE: Readonly<Record<DraftStatus, readonly DraftStatus[]>> = {
  open: [], in_review: [], sending: [], sent: [], send_failed: [], send_unknown: [], discarded: [],
}; // prettier-ignore
const RELEASED = { ...NO_CHANGE, in_review: ['open'] } as const;
const TABLE: Readonly<Record<Step['do'], Readonly<Record<DraftStatus, readonly DraftStatus[]>>>> = {
  // An expired approval releases its draft; interrupted there, the draft is open.
  ask: { ...NO_CHANGE, open: ['in_review'], in_review: ['open'], send_failed: ['in_review'] },
  // A vote on an approval that ended finishes what its end could not record in the draft.
  approve: RELEASED,
  reject: RELEASED,
  cancel: RELEASED,
  commit: { ...NO_CHANGE, in_review: SENT },
  edit: { ...NO_CHANGE, in_review: ['open'], send_failed: ['open'] },
  discard: { ...NO_CHANGE, open: ['discarded'], in_review: ['discarded'], send_failed: ['discarded'] },
  tick: { ...NO_CHANGE, in_review: [...SENT, 'open'], sending: SENT, send_unknown: ['sent'] },
  wait: NO_CHANGE,
};

const OF_AN_APPROVAL: ReadonlySet<Verb> = new Set(['approve', 'reject', 'commit', 'cancel']);

class History {
  readonly rig = new ApprovedSendRig();
  readonly keys: string[] = [];
  draftId = '';
  #ports = this.rig.ports;
  #changes = 0;

  async begin(): Promise<this> {
    this.draftId = await this.rig.startDraft();
    return this;
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'wait') {
      this.rig.parts.clock.advance(step.minutes * 60_000);
      return;
    }
    this.rig.submission.course = COURSES[step.course];
    const ports = step.loss === null ? this.#ports : LOSSES[step.loss](this.#ports);
    try {
      await allowed(this.#run(step.do, ports));
    } catch (error) {
      if (!(error instanceof ProcessGone)) throw error;
      this.#ports = this.rig.newRun();
    }
  }

  async #run(verb: Verb, ports: Ports): Promise<void> {
    const { rig, draftId } = this;
    const key = this.keys.at(-1) ?? 'none';
    const change = `change-${String((this.#changes += 1))}`;
    const isAsked = this.asked.has(rig.operationId(key));
    const verbs: Readonly<Record<Verb, () => Promise<unknown>>> = {
      ask: () => {
        this.keys.push(change);
        return rig.ask(draftId, change, ports);
      },
      approve: () => rig.vote(key, 'approve', ports),
      reject: () => rig.vote(key, 'reject', ports),
      commit: () => rig.commit(key, ports),
      cancel: () => rig.cancel(key, { ports }),
      edit: () => rig.invoke(patchDraftCapability, { draft_id: draftId, subject: change }, change, ports),
      discard: () => rig.invoke(discardDraftCapability, { draft_id: draftId }, change, ports),
      tick: () => this.goOn(ports),
    };
    if (isAsked || !OF_AN_APPROVAL.has(verb)) await verbs[verb]();
  }

  /** Operations that have had an approval. */
  readonly asked = new Set<string>();

  /** The work of the sweepers, once for each send. */
  async goOn(ports: Ports): Promise<void> {
    for (const key of this.keys) {
      const operationId = this.rig.operationId(key);
      await allowed(settleReview(ports, { operationId, draftId: this.draftId, orgId: 'org_1' }));
      await allowed(settleSend(ports, { operationId, orgId: 'org_1' }));
      if (!this.asked.has(operationId)) continue;
      await endOverdue(ports, { operationId, orgId: 'org_1' });
      const { approval } = await this.rig.operation(operationId);
      const commitAt = commitAtOf(approval);
      if (commitAt !== null && Date.parse(commitAt) <= ports.clock.now().getTime())
        await allowed(this.rig.commit(key, ports));
    }
  }

  async note(): Promise<void> {
    for (const key of this.keys) {
      const operationId = this.rig.operationId(key);
      if ((await this.rig.operation(operationId)).approval !== null) this.asked.add(operationId);
    }
  }

  state(): Promise<DraftState> {
    return this.rig.draft(this.draftId);
  }

  takenOf(messageId: string): number {
    return this.rig.submission.taken.filter(({ raw }) => raw.includes(`Message-ID: ${messageId}\r\n`)).length;
  }
}

const allowed = async (running: Promise<unknown>): Promise<void> => {
  try {
    await running;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code === 'internal_error') throw error;
  }
};

const DECIDERS = { roles: { usr_approver: 'approver' }, behindId: 'usr_1' };

async function check(history: History, before: DraftState, step: Step): Promise<void> {
  const { rig, draftId, asked } = history;
  const now = await history.state();
  if (now.status !== before.status)
    expect(TABLE[step.do][before.status], `${step.do} of ${before.status}`).to.include(now.status);
  const stored = await rig.ports.events.readStream(`draft-${draftId}`);
  const approved = new Set<unknown>();
  for (const operationId of asked) {
    const events = await rig.ports.events.readStream(`operation-${operationId}`);
    expect(brokenApprovalRules(events, DECIDERS)).to.deep.equal([]);
    if (events.some(({ type }) => type === 'ApprovalGranted')) approved.add(operationId);
  }
  const streams = [...asked].map((operationId) => rig.ports.events.readStream(`operation-${operationId}`));
  expect(brokenEnvelopeRules([...stored, ...(await Promise.all(streams)).flat()])).to.deep.equal([]);
  for (const { operationId, messageId } of await rig.frozenMessages(draftId)) {
    const taken = history.takenOf(messageId);
    expect(taken, 'what goes out is approved, and goes out once').to.be.at.most(
      approved.has(operationId) ? 1 : 0,
    );
  }
}

describe('a send with approval under random histories', () => {
  it('follows both state tables, sends what was approved at most once, and ends draft and approval together', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (steps) => {
        const history = await new History().begin();
        for (const step of steps) {
          const before = await history.state();
          await history.take(step);
          await history.note();
          await check(history, before, step);
        }
        for (let pass = 0; pass < 4; pass += 1) {
          const before = await history.state();
          history.rig.parts.clock.advance(31 * 60_000);
          await history.take({ do: 'tick', course: 'accept', loss: null });
          await check(history, before, { do: 'tick', course: 'accept', loss: null });
        }
        await expectTogether(history);
      }),
      { numRuns: timesOf(300, 5_000) },
    );
  });
});

/** A draft is in review exactly as long as its own approval, and no other, is open. */
async function expectTogether({ rig, asked, draftId }: History): Promise<void> {
  const draft = await rig.draft(draftId);
  const frozenFor = draft.status === 'discarded' ? null : draft.send?.frozen.operation_id;
  const open: string[] = [];
  for (const operationId of asked) {
    const state = await rig.operation(operationId);
    const status = approvalStatusOf(state, rig.ports.clock.now());
    if (status === 'awaiting_approval' || status === 'pending_commit') open.push(operationId);
    else if (status !== 'commit_unknown') expect(endOf(state.approval)).not.to.equal(null);
  }
  expect(open).to.deep.equal(draft.status === 'in_review' ? [frozenFor] : []);
}
