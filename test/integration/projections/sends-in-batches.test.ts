import { expect } from 'chai';
import fc from 'fast-check';
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Fact } from '../../../commands/values/event.ts';
import { type ProjectedEvent, projectedEvent } from '../../../projections/projection.ts';
import { sends } from '../../../projections/sends.ts';
import { happened } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

const OF_OPERATION = [
  'SendIntended',
  'SendOutcomeRecorded',
  'SendReconciled',
  'CommitAttemptFailed',
] as const;
const OF_DRAFT = [
  'SendStarted',
  'SendScheduled',
  'SendPostponed',
  'DraftSendUnknown',
  'DraftSent',
  'DraftSendFailed',
  'SentCopyFiled',
  'DraftDiscarded',
  'DraftEdited',
] as const;
const OUTCOMES = ['done', 'failed', 'unknown'] as const;

type Type = (typeof OF_OPERATION)[number] | (typeof OF_DRAFT)[number];

/** An event of the first or second send, and whether a batch ends after it. */
interface Happening {
  readonly type: Type;
  readonly send: number;
  readonly outcome: (typeof OUTCOMES)[number];
  readonly endsBatch: boolean;
}

const happening: fc.Arbitrary<Happening> = fc.record({
  type: fc.constantFrom<Type>(...OF_OPERATION, ...OF_DRAFT),
  send: fc.constantFrom(1, 1, 1, 2),
  outcome: fc.constantFrom(...OUTCOMES),
  endsBatch: fc.constantFrom(false, false, false, true),
});

const BEGUN: Happening = { type: 'SendIntended', send: 1, outcome: 'done', endsBatch: false };

describe('the sends read model in batches', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
    for (const table of ['whole', 'single'])
      for (const text of sends.create(() => table)) await rig.sql.query(text);
  });
  after(() => rig[Symbol.asyncDispose]());

  const append = async ({ type, send, outcome }: Happening): Promise<void> => {
    const [operation_id, draft_id] = [`opn_${String(send)}`, `drf_${String(send)}`];
    const isOfDraft = (OF_DRAFT as readonly string[]).includes(type);
    const named = isOfDraft && 'operation_id' in SAMPLE_EVENTS[type] ? { operation_id } : {};
    const told = type === 'SendOutcomeRecorded' || type === 'SendReconciled' ? { outcome } : {};
    const intended = type === 'SendIntended' ? { draft_id } : {};
    const data = { ...SAMPLE_EVENTS[type], ...named, ...told, ...intended };
    const stream = isOfDraft ? `draft-${draft_id}` : `operation-${operation_id}`;
    await happened(rig.events, stream, [{ type, data } as Fact<AnyEvent>]);
  };

  const rowsIn = async (table: string, batches: readonly (readonly ProjectedEvent[])[]) => {
    const { sql } = rig;
    await sql.query(`truncate ${table}`);
    const open = () => Promise.resolve(null);
    for (const events of batches) await sends.apply({ events, log: [], sql, tableOf: () => table, open });
    return await sql.query(`select * from ${table} order by operation_id`);
  };

  it('has the same rows, whatever batches its events came in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 12 }), async (later) => {
        const happenings = [BEGUN, ...later];
        const from = rig.events.all.length;
        for (const each of happenings) await append(each);
        const events = rig.events.all.slice(from).flatMap((stored) => projectedEvent(stored) ?? []);
        const batches: ProjectedEvent[][] = [[]];
        for (const [index, event] of events.entries()) {
          batches.at(-1)?.push(event);
          if (happenings[index]?.endsBatch === true) batches.push([]);
        }
        const single = events.map((event) => [event]);
        expect(await rowsIn('whole', batches)).to.deep.equal(await rowsIn('single', single));
      }),
      { numRuns: 400 },
    );
  });
});
