import { expect } from 'chai';
import fc from 'fast-check';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { reconcileOperation } from '../../../../commands/messages/reconcile-operation.ts';
import type { ItemResult } from '../../../../commands/operations/operation-events.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import { type Loss, ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import {
  type FolderPath,
  FOLDERS,
  type OperationRig,
  operationRig,
} from '../../../support/worlds/operation-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

type Step =
  | { type: 'copy' | 'move'; folder: FolderPath }
  | { type: 'archive' }
  | { type: 'trash' }
  | { type: 'set_flags'; seen: boolean };

interface Scenario {
  /** The folder of each message; few Message-IDs, so that some messages share one and some have none. */
  readonly messages: readonly {
    folder: FolderPath;
    messageId: string | null;
    isSeen: boolean;
    isGone: boolean;
  }[];
  readonly steps: readonly Step[];
  readonly loss: Loss;
}

const folder = fc.constantFrom(...FOLDERS);
const staying: fc.Arbitrary<Step> = fc.oneof(
  folder.map((path) => ({ type: 'copy' as const, folder: path })),
  fc.boolean().map((seen) => ({ type: 'set_flags' as const, seen })),
);
const leaving: fc.Arbitrary<Step> = fc.oneof(
  folder.map((path) => ({ type: 'move' as const, folder: path })),
  fc.constantFrom({ type: 'archive' as const }, { type: 'trash' as const }),
);
const scenarios: fc.Arbitrary<Scenario> = fc.record({
  messages: fc.array(
    fc.record({
      folder: fc.constantFrom(...FOLDERS.slice(0, 3)),
      messageId: fc.constantFrom(
        '<a@example.com>',
        '<a@example.com>',
        '<b@example.com>',
        '<c@example.com>',
        null,
      ),
      isSeen: fc.boolean(),
      isGone: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  steps: fc
    .tuple(fc.array(staying, { maxLength: 3 }), fc.option(leaving))
    .map(([stay, leave]) => (leave === null ? stay : [...stay, leave]))
    .filter((steps) => steps.length > 0),
  loss: fc.record({
    at: fc.integer({ min: 0, max: 8 }),
    isDone: fc.boolean(),
    of: fc.constantFrom('connection', 'process'),
  }),
});

const destinationOf = (step: Step): FolderPath | null => {
  if (step.type === 'set_flags') return null;
  if (step.type === 'archive') return 'Archive';
  if (step.type === 'trash') return 'Trash';
  return step.folder;
};
const isMove = (step: Step): boolean => step.type !== 'copy' && step.type !== 'set_flags';

interface Ran {
  readonly rig: OperationRig;
  readonly operationId: string;
  readonly ids: readonly string[];
  readonly retry: () => Promise<unknown>;
}

/** Runs the scenario until its loss and restores the connection. */
async function run({ messages, steps, loss }: Scenario): Promise<Ran> {
  const rig = operationRig();
  // The UIDs of two folders start at different numbers.
  for (const path of FOLDERS) rig.mailbox.folder(path).uidNext = 10 * (FOLDERS.indexOf(path) + 1);
  const ids = messages.map(({ folder: path, messageId, isSeen }) =>
    rig.arrive(path, messageId, isSeen ? ['\\Seen'] : []),
  );
  for (const [index, id] of ids.entries()) {
    const uid = rig.ports.locators.openMessage(id)?.uid ?? 0;
    const { isGone = false, folder: path = 'INBOX' } = messages[index] ?? {};
    if (isGone) rig.mailbox.folder(path).messages.delete(uid);
  }
  rig.mailbox.loss = loss;
  const input = { operation: { type: 'message_actions', select: { message_ids: ids }, actions: steps } };
  const retry = () => rig.invoke(actOnEmail, input, 'key');
  await retry().catch((error: unknown) => {
    if (!(error instanceof ProcessGone)) throw error;
  });
  const stream = rig.events.all.find(({ type }) => type === 'OperationSubmitted')?.streamName ?? '';
  return { rig, operationId: stream.replace('operation-', ''), ids, retry };
}

const reconcile = ({ rig, operationId }: Ran) =>
  reconcileOperation(rig.ports, sampleAuthor('org_1'), operationId);

/** `<id> <step>` of what the server carried out: its commands ran in order, one per step and folder. */
function truth({ messages, steps }: Scenario, { rig, ids }: Ran): ReadonlySet<string> {
  const there = ids.flatMap((id, at) => {
    const { folder: path = 'INBOX', isGone = true } = messages[at] ?? {};
    const uid = String(rig.ports.locators.openMessage(id)?.uid);
    return isGone ? [] : [{ id, path, place: `${path} ${uid}` }];
  });
  const left = [...rig.mailbox.effects];
  const commands = steps.flatMap((step, index) =>
    [...Map.groupBy(there, ({ path }) => path)]
      .filter(([path]) => !(isMove(step) && destinationOf(step) === path))
      .map(([, group]) => ({ group, index })),
  );
  const carriedOut = commands.flatMap(({ group, index }) => {
    const places = left.shift() ?? [];
    return group.filter(({ place }) => places.includes(place)).map(({ id }) => `${id} ${String(index)}`);
  });
  return new Set(carriedOut);
}

function checkOutcome(step: Step, home: FolderPath, outcome: string, isCarriedOut: boolean): void {
  // Flags that are as requested, and a message that is at its destination, are done, whichever client did it.
  const isVacuous = step.type === 'set_flags' || (isMove(step) && destinationOf(step) === home);
  if (outcome === 'done') expect(isCarriedOut || isVacuous).to.equal(true);
  else expect(isCarriedOut).to.equal(false);
}

/** The new id names a message with the same Message-ID in the destination. */
function checkArrival(rig: OperationRig, path: FolderPath, messageId: string | null, newId: string): void {
  const place = rig.ports.locators.openMessage(newId);
  expect(FOLDERS[(place?.folderNumber ?? 0) - 1]).to.equal(path);
  expect(rig.mailbox.folder(path).messages.get(place?.uid ?? 0)).to.include({ messageId });
}

function checkResult(scenario: Scenario, ran: Ran, result: ItemResult, isCarriedOut: boolean): void {
  const message = scenario.messages[ran.ids.indexOf(result.message_id)];
  const step = scenario.steps[result.step];
  if (!message || !step) throw new Error('a result of nothing');
  if (result.outcome === 'unknown') {
    expect(message.messageId, 'only what has no Message-ID may stay unknown').to.equal(null);
    return;
  }
  checkOutcome(step, message.folder, result.outcome, isCarriedOut);
  const destination = destinationOf(step);
  if (result.new_message_id === undefined || destination === null) return;
  checkArrival(ran.rig, destination, message.messageId, result.new_message_id);
}

describe('reconcileOperation', () => {
  it(`agrees with the mailbox wherever the operation was interrupted ${verifies('contract:10:reconciled', 'contract:10:cut-off')}`, async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const ran = await run(scenario);
        const carriedOut = truth(scenario, ran);
        const reconciled = await reconcile(ran);
        const results = reconciled?.results ?? [];
        expect(results).to.have.length(scenario.messages.length * scenario.steps.length);
        for (const result of results)
          checkResult(scenario, ran, result, carriedOut.has(`${result.message_id} ${String(result.step)}`));
        const arrivals = results.flatMap(({ new_message_id: id }) =>
          id === undefined || ran.ids.includes(id) ? [] : [id],
        );
        expect(new Set(arrivals).size, 'every arrival has one cause').to.equal(arrivals.length);
      }),
      { numRuns: 400 },
    );
  });

  it(`changes nothing in the mailbox, and records nothing when it runs again ${verifies('contract:14:no-second-effect')}`, async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const ran = await run(scenario);
        const { commands } = ran.rig.mailbox;
        const before = [...commands];
        const first = await reconcile(ran);
        const written = ran.rig.events.all.length;
        expect(await reconcile(ran)).to.deep.equal(first);
        expect(await ran.retry()).to.deep.include({ replayed: true });
        expect(ran.rig.events.all.length).to.equal(written);
        expect(commands).to.deep.equal(before);
      }),
      { numRuns: 100 },
    );
  });

  const cut = (rig: OperationRig, loss: Partial<Loss>): void => {
    rig.mailbox.loss = { at: 0, isDone: true, of: 'process', ...loss };
  };
  const act = (rig: OperationRig, ids: readonly string[], ...actions: object[]) =>
    rig.invoke(
      actOnEmail,
      { operation: { type: 'message_actions', select: { message_ids: ids }, actions } },
      'key',
    );
  const outcomes = (output: unknown): unknown[] =>
    (output as { results: ItemResult[] }).results.map(({ outcome }) => outcome);

  it('reports unknown, not failed, when no Message-ID can prove a copy', async () => {
    const rig = operationRig();
    cut(rig, { isDone: true });
    const id = rig.arrive('INBOX', null);
    await rejection(act(rig, [id], { type: 'copy', folder: 'Work' }));
    expect(outcomes((await act(rig, [id], { type: 'copy', folder: 'Work' })).output)).to.deep.equal([
      'unknown',
    ]);
  });

  it('takes flags that were set before as no proof of the preceding step', async () => {
    const rig = operationRig();
    cut(rig, { isDone: false });
    const id = rig.arrive('INBOX', '<a@example.com>', ['\\Seen']);
    const actions = [
      { type: 'copy', folder: 'Work' },
      { type: 'set_flags', seen: true },
    ];
    await rejection(act(rig, [id], ...actions));
    expect(outcomes((await act(rig, [id], ...actions)).output)).to.deep.equal(['failed', 'skipped']);
  });

  it('recognises a keyword in another letter case, because servers keep the first one', async () => {
    const rig = operationRig();
    cut(rig, { isDone: false });
    const id = rig.arrive('INBOX', '<a@example.com>', ['later']);
    const action = { type: 'set_flags', keywords_add: ['Later'] };
    await rejection(act(rig, [id], action));
    expect(outcomes((await act(rig, [id], action)).output)).to.deep.equal(['done']);
  });

  it('waits when another process holds the lease', async () => {
    const rig = operationRig();
    cut(rig, {});
    const id = rig.arrive('INBOX');
    await rejection(act(rig, [id], { type: 'archive' }));
    const name = rig.events.all[0]?.streamName.replace('operation-', '') ?? '';
    rig.leaseTable.set(name, 'run_2');
    expect(await rejection(act(rig, [id], { type: 'archive' }))).to.include({
      code: 'idempotency_in_progress',
    });
    rig.leaseTable.delete(name);
    expect(outcomes((await act(rig, [id], { type: 'archive' })).output)).to.deep.equal(['done']);
  });
});
