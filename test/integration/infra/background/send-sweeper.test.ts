import { expect } from 'chai';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { resolveSend } from '../../../../commands/email/resolve-operation.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import type { Projector } from '../../../../infra/projector/projector.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { sends } from '../../../../projections/sends.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import { runNamedSweepers } from '../../../support/worlds/named-sweepers.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { LATER_AT_ENVELOPE } from '../../../support/fakes/fake-submission.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

/** Telling an operation what an unknown send turned out to be. */
const TELLING = /^(?:QuotaGivenBack|SendReconciled)$/;
/** The ports of a process that dies right before that. */
const dyingUntold = (ports: Ports): Ports => {
  const { events: store } = ports;
  const events: Ports['events'] = {
    append: (stream, expected, events) =>
      events.some(({ type }) => TELLING.test(type))
        ? Promise.reject(new ProcessGone())
        : store.append(stream, expected, events),
    readStream: (stream, from) => store.readStream(stream, from),
    readLast: (stream) => store.readLast(stream),
    headPosition: () => store.headPosition(),
    readAll: (after, most) => store.readAll(after, most),
    subscribeToAll: (from, signal, filter) => store.subscribeToAll(from, signal, filter),
  };
  return { ...ports, events };
};

const dies = async (work: Promise<unknown>): Promise<void> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof ProcessGone) return;
    throw error;
  }
  throw new Error('it did not die');
};

describe('the send sweeper', () => {
  let home: Rig;
  let rig: SendRig;
  let projector: Projector;
  const workers: { readonly stop: AbortController; readonly ended: Promise<void> }[] = [];

  beforeEach(async () => {
    home = await openRig();
  });
  const openSends = async (kind: 'agent' | 'user'): Promise<void> => {
    rig = new SendRig({ kind });
    projector = await home.start({ events: rig.ports.events, projections: [sends] });
  };
  afterEach(async () => {
    for (const { stop } of workers) stop.abort();
    await Promise.all(workers.splice(0).map(({ ended }) => ended));
    await projector.close();
    await home[Symbol.asyncDispose]();
  });

  /** A send without a recorded outcome is left this long to the process that runs it. */
  const LEFT_FOR_MS = 2_000;

  /** A sweeper of a new process, until the test is over. */
  const startWorker = (): void => {
    const { clock, ...ports } = rig.newRun();
    const running: Ports = {
      ...ports,
      sql: home.sql,
      clock: { ...systemClock, now: () => clock.now() },
    };
    const stop = new AbortController();
    workers.push({ stop, ended: runNamedSweepers(running, ['sends'], stop.signal) });
  };

  const outcomeOf = async (operationId: string) => (await rig.operation(operationId)).send?.outcome?.outcome;

  /** A send of which nobody knows, and that is told so. */
  const unknown = async (): Promise<{ readonly id: string; readonly operationId: string }> => {
    await openSends('agent');
    const id = await rig.startDraft();
    rig.submission.course = { kind: 'lost', taken: true };
    await rig.send(id, 'key-1').catch(() => undefined);
    const operationId = rig.operationId('key-1');
    expect(await outcomeOf(operationId)).to.equal('unknown');
    return { id, operationId };
  };

  it('records the outcome of an unknown send when a process died before it', async () => {
    const { id, operationId } = await unknown();
    rig.mailbox.add('Sent', await rig.messageId(id));
    await dies(settleSend(dyingUntold(rig.ports), { operationId, orgId: 'org_1' }));
    expect((await rig.draft(id)).status).to.equal('sent');
    rig.parts.clock.advance(LEFT_FOR_MS);
    startWorker();
    await eventually(async () => (await outcomeOf(operationId)) === 'done');
    expect(await rig.send(id, 'key-1')).to.include({ status: 'completed' });
  });

  it('records the word of a person and returns the quota when a process died before it', async () => {
    const { id, operationId } = await unknown();
    const { events } = rig.parts.ports;
    const author = sampleAuthor('org_1');
    await dies(resolveSend(dyingUntold(rig.ports), author, operationId, 'not_done'));
    expect((await rig.draft(id)).status).to.equal('send_failed');
    rig.parts.clock.advance(LEFT_FOR_MS);
    startWorker();
    await eventually(async () => (await outcomeOf(operationId)) === 'failed');
    const all = await events.readAll(null, 100);
    expect(all.map(({ type }) => type)).to.include('QuotaGivenBack');
  });

  it('continues with other mailboxes when the server of one hangs', async () => {
    await openSends('user');
    rig.submission.course = LATER_AT_ENVELOPE;
    const keys = Array.from({ length: 20 }, (_, at) => `slow-${String(at)}`);
    for (const key of keys) await rig.send(await rig.startDraft(), key).catch(() => undefined);
    rig.parts.clock.advance(1_000);
    const draftId = await startDraftIn('mbx_1');
    await rig.send(draftId, 'quick').catch(() => undefined);
    expect((await rig.draft(draftId)).send?.retryAt).to.be.a('string');
    const hanging = Promise.withResolvers<undefined>();
    const connect = rig.submission.connect.bind(rig.submission);
    rig.submission.connect = async (...[mailboxId]: [string?]) => {
      if (mailboxId === 'mbx_0') await hanging.promise;
      return await connect();
    };
    rig.submission.course = { kind: 'accept' };
    rig.parts.clock.advance(120_000);
    await projector.readModels.waitFor(await rig.ports.events.headPosition(), 3_000);
    startWorker();
    await eventually(async () => (await rig.draft(draftId)).status === 'sent');
    expect(rig.submission.taken.length).to.equal(1);
    hanging.resolve(undefined);
  });

  /** A draft of one version in a mailbox of the rig that is not its first. */
  const startDraftIn = async (mailboxId: string): Promise<string> => {
    const id = rig.ports.ids.newId('drf');
    const version = await rig.version(id, 1, ['bob@example.org']);
    const data = {
      ...SAMPLE_EVENTS.DraftStarted,
      mailbox_id: mailboxId,
      kind: 'new' as const,
      threading: null,
      draft: version,
    };
    await rig.append(id, { type: 'DraftStarted', data });
    return id;
  };
});
