import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { eventCatalogue } from '../../../commands/event-catalogue.ts';
import { draft, type DraftFact, type DraftState, rfcMessageIdOf } from '../../../commands/drafts/draft.ts';
import { messageIdsOf } from '../../../commands/sending/sent-copy.ts';
import { attachmentsOf, DraftEnvelope } from '../../../commands/drafts/draft-envelope.ts';
import { Threading } from '../../../commands/drafts/draft-events.ts';
import { envelope, loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import { openJson } from '../../../commands/kernel/sealed-json.ts';
import { operation } from '../../../commands/operations/operation.ts';
import { openTargets } from '../../../commands/messages/prepare-operation.ts';
import { readEvent } from '../../../commands/values/event.ts';
import { stateAfter } from '../../support/suite/decider-spec.ts';
import { openSample, sampleAuthor, sealSample } from '../../support/samples/event-author.ts';
import { MemoryEventStore } from '../../support/fakes/memory-event-store.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { verifies } from '../../support/suite/verifies.ts';

const personal = { open: openSample };
const FORGED = 'sealed:what somebody put there long ago';

/** A stream with one event in the first version of its type. */
async function stored(
  stream: string,
  type: string,
  changes: Record<string, unknown>,
): Promise<MemoryEventStore> {
  const definition = eventCatalogue.get(type);
  if (!definition) throw new Error(type);
  const sample = JSON.parse(await readFile(`test/golden/events/${type}.v1.json`, 'utf8')) as object;
  const events = new MemoryEventStore();
  const metadata = envelope(sampleAuthor('org_1'), { ...definition, upcasters: [] }, new Date());
  await events.append(stream, 'no-stream', [
    { id: '00000000-0000-5000-8000-000000000001', type, data: { ...sample, ...changes }, metadata },
  ]);
  return events;
}

describe('reading of sealed fields', () => {
  it(`reads Message-IDs of targets in clear from older events, and never opens one that looks sealed ${verifies('contract:12:clear-text')}`, async () => {
    const targets = [
      { message_id: 'msg_1', rfc_message_id: FORGED, stale: false },
      { message_id: 'msg_2', rfc_message_id: null, stale: true },
    ];
    const events = await stored('operation-opn_1', 'OperationSubmitted', { targets });
    const { state } = await loadAggregate(events, operation, 'opn_1');
    expect(await openTargets(personal, state)).to.deep.equal(targets);
  });

  it('opens sealed Message-IDs of targets, and yields null when the mailbox is erased', async () => {
    const targets = [{ message_id: 'msg_1', stale: false }];
    const sealed = { targets, rfcMessageIds: sealSample('["<1@example.com>"]') };
    const [opened] = await openTargets(personal, sealed);
    expect(opened).to.deep.equal({ ...targets[0], rfc_message_id: '<1@example.com>' });
    const [erased] = await openTargets({ open: () => Promise.resolve(null) }, sealed);
    expect(erased).to.deep.equal({ ...targets[0], rfc_message_id: null });
  });

  it('reads the thread of a draft in clear from older events', async () => {
    const changes = { in_reply_to: FORGED, references: ['<0@example.com>', FORGED] };
    const { state } = await loadAggregate(
      await stored('draft-drf_1', 'DraftStarted', changes),
      draft,
      'drf_1',
    );
    expect(await openJson(personal, state.threading, Threading)).to.deep.equal(changes);
    const none = await stored('draft-drf_1', 'DraftStarted', { in_reply_to: null, references: [] });
    expect((await loadAggregate(none, draft, 'drf_1')).state.threading).to.equal(null);
  });

  it(`reads the sent Message-ID in clear from older events, and never opens one that looks sealed ${verifies('contract:12:clear-text')}`, async () => {
    const frozen = await stored('draft-drf_1', 'DraftFrozen', { message_id: FORGED });
    const { state } = await loadAggregate(frozen, draft, 'drf_1');
    expect(await messageIdsOf(personal, state)).to.deep.equal([FORGED]);
    const sent = await stored('draft-drf_1', 'DraftSent', { message_id: '<given@example.com>' });
    const { outcome } = (await loadAggregate(sent, draft, 'drf_1')).state;
    expect(await messageIdsOf(personal, { ...state, outcome })).to.deep.equal([
      FORGED,
      '<given@example.com>',
    ]);
    expect(rfcMessageIdOf({ ...state, outcome })).to.deep.equal({ clear: '<given@example.com>' });
  });

  it('opens sealed Message-IDs, with the one the server assigned, and none when the mailbox is erased', async () => {
    const data = { ...SAMPLE_EVENTS.DraftFrozen, rfc_message_id: sealSample('<1@example.com>') };
    const given = { ...SAMPLE_EVENTS.DraftSent, rfc_message_id: sealSample('<2@example.com>') };
    const start: DraftFact = { type: 'DraftStarted', data: SAMPLE_EVENTS.DraftStarted };
    const after = (...facts: readonly DraftFact[]): DraftState => stateAfter(draft, [start, ...facts]);
    const frozen: DraftFact = { type: 'DraftFrozen', data };
    const kept = after(frozen, { type: 'DraftSent', data: { ...given, rfc_message_id: null } });
    const replaced = after(frozen, { type: 'DraftSent', data: given });
    expect(await messageIdsOf(personal, kept)).to.deep.equal(['<1@example.com>']);
    expect(await messageIdsOf(personal, replaced)).to.deep.equal(['<1@example.com>', '<2@example.com>']);
    expect(rfcMessageIdOf(replaced)).to.equal(given.rfc_message_id);
    expect(await messageIdsOf({ open: () => Promise.resolve(null) }, replaced)).to.deep.equal([]);
  });

  it(`reads who was refused in older counts ${verifies('contract:12:sources-sealed')}`, async () => {
    const read = async (source: string): Promise<unknown[]> => {
      const events = await stored('access-run-1', 'RefusalsCounted', { source });
      return events.all.map((event) => {
        const { credential_id, source: from } = readEvent(eventCatalogue, event)?.data as Record<
          string,
          unknown
        >;
        return [credential_id, from];
      });
    };
    expect(await read('192.0.2.7')).to.deep.equal([[null, { clear: '192.0.2.7' }]]);
    expect(await read('sealed.v2.usr_1.forged')).to.deep.equal([[null, { clear: 'sealed.v2.usr_1.forged' }]]);
    expect(await read('tok_1')).to.deep.equal([['tok_1', null]]);
    expect(await read('others')).to.deep.equal([[null, null]]);
  });

  it('finds the hash of an attachment in the sealed envelope or in an older event', () => {
    const label = { id: 'upl_1', filename: 'a.txt', content_type: 'text/plain', content_id: null };
    const rest = { from: null, to: [], cc: [], bcc: [], reply_to: [], subject: '', headers: {} };
    const shown = (attachment: object, reference: object): unknown[] =>
      attachmentsOf(
        { attachments: [{ id: 'upl_1', size: 5, ...reference }] },
        DraftEnvelope.parse({ ...rest, attachments: [{ ...label, ...attachment }] }),
      ).map(({ sha256 }) => sha256);
    expect(shown({ sha256: 'abc' }, {})).to.deep.equal(['abc']);
    expect(shown({}, { sha256: 'abc' })).to.deep.equal(['abc']);
    expect(shown({}, {})).to.deep.equal([null]);
  });
});
