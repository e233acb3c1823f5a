/** The send part of the draft's table (`contract.md` 10) against random histories of servers, crashes and people. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { DraftStatus } from '../../../../commands/operations/draft-shape.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { decideAndAppend } from '../../../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { NewEvent } from '../../../../commands/values/event.ts';
import { discardDraft } from '../../../../commands/drafts/decide-draft.ts';
import { draft, type DraftState } from '../../../../commands/drafts/draft.ts';
import { fileSentCopy } from '../../../../commands/sending/sent-copy.ts';
import { resolveSend } from '../../../../commands/email/resolve-operation.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import {
  type Course,
  LATER_AT_DATA,
  LATER_AT_ENVELOPE,
  NEVER,
} from '../../../support/fakes/fake-submission.ts';
import { timesOf } from '../../../support/suite/long.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const COURSES = {
  accept: { kind: 'accept' },
  never: NEVER,
  later: LATER_AT_ENVELOPE,
  laterAtDot: LATER_AT_DATA,
  lostTaken: { kind: 'lost', taken: true },
  lostUntaken: { kind: 'lost', taken: false },
} as const satisfies Record<string, Course>;
type CourseName = keyof typeof COURSES;

const OUTCOMES = /^(?:DraftSen|SendPostponed)/;
/** The append with which, or right before which, the process dies. */
const LOSSES = {
  claimed: { types: /^SendIntended$/, isWritten: true },
  begun: { types: /^SendStarted$/, isWritten: true },
  fenced: { types: /^SendDataBegun$/, isWritten: false },
  data: { types: /^SendDataBegun$/, isWritten: true },
  unrecorded: { types: OUTCOMES, isWritten: false },
  recorded: { types: OUTCOMES, isWritten: true },
  copied: { types: /^SentCopyFiled$/, isWritten: false },
} as const;
type Loss = keyof typeof LOSSES;

type Step =
  | { readonly do: 'send' | 'tick'; readonly course: CourseName; readonly loss: Loss | null }
  | { readonly do: 'wait'; readonly minutes: number }
  | { readonly do: 'edit' | 'discard' | 'server_copy' | 'done' | 'not_done' };

const work = fc.record({
  do: fc.constantFrom('send' as const, 'tick' as const),
  course: fc.constantFrom(...(Object.keys(COURSES) as CourseName[])),
  loss: fc.option(fc.constantFrom(...(Object.keys(LOSSES) as Loss[])), { freq: 2 }),
});
const waiting = fc.record({ do: fc.constant('wait' as const), minutes: fc.constantFrom(1, 6, 16, 1_500) });
const others = fc.record({
  do: fc.constantFrom(
    'edit' as const,
    'discard' as const,
    'server_copy' as const,
    'done' as const,
    'not_done' as const,
  ),
});
const histories: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: work },
    { weight: 2, arbitrary: waiting },
    { weight: 1, arbitrary: others },
  ),
  { minLength: 1, maxLength: 14 },
);

const SENT_BY_WORK: readonly DraftStatus[] = ['sending', 'sent', 'send_failed', 'send_unknown'];
const NO_CHANGE: Readonly<Record<DraftStatus, readonly DraftStatus[]>> = {
  open: [], in_review: [], sending: [], sent: [], send_failed: [], send_unknown: [], discarded: [],
}; // prettier-ignore
const BY_WORK = { ...NO_CHANGE, open: SENT_BY_WORK, send_failed: SENT_BY_WORK, sending: SENT_BY_WORK };
/** The states that a step may lead to; staying is always allowed. */
const TABLE: Readonly<Record<Step['do'], Readonly<Record<DraftStatus, readonly DraftStatus[]>>>> = {
  send: BY_WORK,
  tick: { ...BY_WORK, send_unknown: ['sent'] },
  wait: NO_CHANGE,
  server_copy: NO_CHANGE,
  edit: { ...NO_CHANGE, send_failed: ['open'] },
  discard: { ...NO_CHANGE, open: ['discarded'], send_failed: ['discarded'], sending: ['discarded'] },
  done: { ...NO_CHANGE, send_unknown: ['sent'] },
  not_done: { ...NO_CHANGE, send_unknown: ['send_failed'] },
};

/** The ports of a process that dies at a point. */
function doomed(ports: Ports, loss: Loss | null): Ports {
  let isGone = false;
  const { events: store } = ports;
  const append: Ports['events']['append'] = async (stream, expected, events: readonly NewEvent[]) => {
    if (isGone) throw new ProcessGone();
    isGone = loss !== null && events.some(({ type }) => LOSSES[loss].types.test(type));
    const isWritten = !isGone || (loss !== null && LOSSES[loss].isWritten);
    const appended = isWritten ? await store.append(stream, expected, events) : null;
    if (isGone || appended === null) throw new ProcessGone();
    return appended;
  };
  const events: Ports['events'] = {
    append,
    readStream: (stream, from) => store.readStream(stream, from),
    readLast: (stream) => store.readLast(stream),
    headPosition: () => store.headPosition(),
    readAll: (after, most) => store.readAll(after, most),
    subscribeToAll: (from, signal, filter) => store.subscribeToAll(from, signal, filter),
  };
  return { ...ports, events };
}

class History {
  readonly rig = new SendRig();
  readonly keys: string[] = [];
  /** Message-IDs that a person called unsent. */
  readonly overruled = new Set<string>();
  draftId = '';
  #ports = this.rig.ports;

  async begin(): Promise<this> {
    this.draftId = await this.rig.startDraft();
    return this;
  }

  state(): Promise<DraftState> {
    return this.rig.draft(this.draftId);
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'wait':
        this.rig.parts.clock.advance(step.minutes * 60_000);
        return;
      case 'send':
        this.keys.push(`key-${String(this.keys.length)}`);
        {
          await this.inProcess(step, (ports) =>
            this.rig.send(this.draftId, this.keys.at(-1) ?? '', { ports }),
          );
          return;
        }
      case 'tick': {
        await this.inProcess(step, (ports) => this.goOn(ports));
        return;
      }
      case 'edit':
        if (['open', 'send_failed'].includes((await this.state()).status)) await this.rig.edit(this.draftId);
        return;
      case 'discard': {
        await allowed(
          decideAndAppend(this.#ports, sampleAuthor('org_1'), draft, {
            id: this.draftId,
            decide: (state) => discardDraft(state, 'caller', null),
          }),
        );
        return;
      }
      case 'server_copy': {
        await this.#fileByServer();
        return;
      }
      case 'done':
      case 'not_done': {
        await this.#resolve(step.do);
        return;
      }
    }
  }

  /** The work of the sweeper, once for each send. */
  async goOn(ports: Ports): Promise<void> {
    for (const key of this.keys) {
      const operationId = this.rig.operationId(key);
      await allowed(settleSend(ports, { operationId, orgId: 'org_1' }));
      const unfiled = { operationId, orgId: 'org_1', draftId: this.draftId, lastFiledBy: 'gateway' } as const;
      if ((await this.state()).sendEnds[operationId]?.kind === 'sent') await fileSentCopy(ports, unfiled);
    }
  }

  async inProcess(
    { course, loss }: { readonly course: CourseName; readonly loss: Loss | null },
    run: (ports: Ports) => Promise<unknown>,
  ): Promise<void> {
    this.rig.submission.course = COURSES[course];
    try {
      await allowed(run(doomed(this.#ports, loss)));
    } catch (error) {
      if (!(error instanceof ProcessGone)) throw error;
      this.#ports = this.rig.newRun();
    }
  }

  /** A server that files copies does so for every message it accepted. */
  async #fileByServer(): Promise<void> {
    const { send } = await this.state();
    const messageId = send && (await this.rig.messageId(this.draftId));
    if (messageId !== null && this.takenOf(messageId) > 0 && this.copiesOf(messageId) === 0)
      this.rig.mailbox.add('Sent', messageId);
  }

  async #resolve(word: 'done' | 'not_done'): Promise<void> {
    const { send, status } = await this.state();
    if (send === null) return;
    if (status === 'send_unknown' && word === 'not_done')
      this.overruled.add(await this.rig.messageId(this.draftId));
    const { operation_id } = send.frozen;
    await allowed(resolveSend(this.#ports, sampleAuthor('org_1'), operation_id, word));
  }

  takenOf(messageId: string): number {
    return this.rig.submission.taken.filter(({ raw }) => raw.includes(`Message-ID: ${messageId}\r\n`)).length;
  }

  copiesOf(messageId: string): number {
    const messages = [...this.rig.mailbox.folder('Sent').messages.values()];
    return messages.filter((message) => message.messageId === messageId).length;
  }
}

const allowed = async (running: Promise<unknown>): Promise<void> => {
  try {
    await running;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code === 'internal_error') throw error;
  }
};

async function check(history: History, before: DraftState, step: Step): Promise<void> {
  const now = await history.state();
  const moved = now.status === before.status ? null : now.status;
  if (moved !== null)
    expect(TABLE[step.do][before.status], `${step.do} of ${before.status}`).to.include(moved);
  for (const { messageId } of await history.rig.frozenMessages(history.draftId)) {
    expect(history.takenOf(messageId), 'one acceptance per message').to.be.at.most(1);
    expect(history.copiesOf(messageId), 'one copy per message').to.be.at.most(1);
  }
  const messageId = now.send && (await history.rig.messageId(history.draftId));
  if (messageId === null || history.takenOf(messageId) === 0 || history.overruled.has(messageId)) return;
  expect(now.status, 'what was taken is never called unsent').to.be.oneOf([
    'sending',
    'sent',
    'send_unknown',
  ]);
}

describe('a send under random histories', () => {
  it('follows the state table, sends nothing twice, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (steps) => {
        const history = await new History().begin();
        for (const step of steps) {
          const before = await history.state();
          await history.take(step);
          await check(history, before, step);
        }
        for (let pass = 0; pass < 3; pass += 1) {
          const before = await history.state();
          history.rig.parts.clock.advance(31 * 60_000);
          await history.inProcess({ course: 'accept', loss: null }, (ports) => history.goOn(ports));
          await check(history, before, { do: 'tick', course: 'accept', loss: null });
        }
        expect((await history.state()).status).not.to.equal('sending');
        for (const key of history.keys) {
          const { send } = await history.rig.operation(history.rig.operationId(key));
          if (send !== null) expect(send.outcome, 'every intent has an outcome').not.to.equal(null);
        }
      }),
      { numRuns: timesOf(300, 5_000) },
    );
  });
});
