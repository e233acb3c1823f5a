import { expect } from 'chai';
import { draft } from '../../../commands/drafts/draft.ts';
import { loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import { drafts, listDraftStates, listUnsentDrafts } from '../../../projections/drafts.ts';
import { listWrittenTo } from '../../../projections/contacts.ts';
import { listSentWith } from '../../../projections/sent-messages.ts';
import { happened, sealSample } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

type Told = keyof typeof SAMPLE_EVENTS;

describe('the list of drafts', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const tell = (id: string, ...types: Told[]): Promise<unknown> => {
    const facts = types.map((type) => ({ type, data: SAMPLE_EVENTS[type] }));
    return happened(rig.events, `draft-${id}`, facts as unknown as Parameters<typeof happened>[2]);
  };

  it('shows each draft as in its stream, for any batches of events', async () => {
    const { sql, events } = rig;
    const projector = await rig.start({ projections: [drafts] });
    await tell('drf_1', 'DraftStarted', 'DraftEdited');
    await tell('drf_2', 'DraftStarted');
    await rig.settle(projector);
    await tell('drf_1', 'DraftFrozen', 'SendStarted', 'SendPostponed');
    await tell('drf_3', 'DraftStarted', 'DraftDiscarded');
    await tell('drf_4', 'DraftStarted', 'DraftFrozen', 'SendStarted', 'DraftSent');
    await rig.settle(projector);
    await tell('drf_4', 'SentCopyFiled');
    await rig.settle(projector);
    const all = { mailboxIds: ['mbx_1'], status: null, before: null, limit: 10 };
    const listed = await listDraftStates(sql, all);
    expect(listed.map(({ id }) => id)).to.deep.equal(['drf_4', 'drf_3', 'drf_2', 'drf_1']);
    for (const { id, state } of listed) {
      const { state: folded } = await loadAggregate(events, draft, id);
      expect(state, id).to.deep.equal(folded);
    }
    const of = async (change: object): Promise<string[]> =>
      (await listDraftStates(sql, { ...all, ...change })).map(({ id }) => id);
    expect(await of({ status: 'discarded' })).to.deep.equal(['drf_3']);
    expect(await of({ before: 'drf_3', limit: 1 })).to.deep.equal(['drf_2']);
    expect(await of({ mailboxIds: ['mbx_2'] })).to.deep.equal([]);
    const unsent = await listUnsentDrafts(sql, { mailboxIds: ['mbx_1'], except: [], limit: 10 });
    expect(unsent.map(({ draftId }) => draftId)).to.have.members(['drf_1', 'drf_2']);
  });

  it(`knows the recipients of a mailbox who accepted a mail, until the mailbox is erased ${verifies('contract:8:recipients')}`, async () => {
    const { sql, events } = rig;
    const projector = await rig.start({ projections: [drafts] });
    const to = ['bob@example.com', 'refused@example.com', 'Box@xn--exmple-cua.org'];
    const frozen = {
      ...SAMPLE_EVENTS.DraftFrozen,
      smtp_envelope: sealSample(JSON.stringify({ from: 'anna@example.com', to })),
    };
    const [rejected] = SAMPLE_EVENTS.DraftSent.rejected;
    const sent = {
      ...SAMPLE_EVENTS.DraftSent,
      rejected: [{ ...rejected, address: sealSample('refused@example.com') }],
    };
    const draftOf = (id: string, mailbox_id: string, ...more: object[]): Promise<unknown> =>
      happened(events, `draft-${id}`, [
        { type: 'DraftStarted', data: { ...SAMPLE_EVENTS.DraftStarted, mailbox_id } },
        { type: 'DraftFrozen', data: frozen },
        ...more,
      ] as unknown as Parameters<typeof happened>[2]);
    const written = async (mailboxId: string, ...more: string[]): Promise<string[]> => [
      ...(await listWrittenTo(sql, mailboxId, [...to, ...more])),
    ];
    await draftOf('drf_5', 'mbx_5');
    await rig.settle(projector);
    expect(await written('mbx_5'), 'frozen is not sent').to.deep.equal([]);
    await happened(events, 'draft-drf_5', [{ type: 'DraftSent', data: sent }] as unknown as Parameters<
      typeof happened
    >[2]);
    await draftOf('drf_6', 'mbx_6', { type: 'DraftSent', data: sent });
    await rig.settle(projector);
    expect(
      await written('mbx_5', 'Bob@example.com', 'bob@example.com.evil.test', 'Box@exämple.org'),
    ).to.have.members(['bob@example.com', 'Box@xn--exmple-cua.org', 'Box@exämple.org']);
    expect(await written('mbx_7')).to.deep.equal([]);
    await happened(events, 'mailbox-mbx_5', [{ type: 'MailboxErased', data: {} }]);
    await rig.settle(projector);
    expect(await written('mbx_5')).to.deep.equal([]);
    expect(await written('mbx_6')).to.have.length(2);
  });

  it(`knows which draft a mailbox sent with a Message-ID, from the first byte on ${verifies('contract:11:bounced')}`, async () => {
    const { sql, events } = rig;
    const projector = await rig.start({ projections: [drafts] });
    const tellOf = async (id: string, ...facts: object[]): Promise<void> => {
      await happened(events, `draft-${id}`, facts as unknown as Parameters<typeof happened>[2]);
      await rig.settle(projector);
    };
    const frozen = { ...SAMPLE_EVENTS.DraftFrozen, rfc_message_id: sealSample('<own@example.com>') };
    const find = (mailboxId: string, ...ids: string[]) => listSentWith(sql, mailboxId, ids);
    await tellOf(
      'drf_8',
      { type: 'DraftStarted', data: { ...SAMPLE_EVENTS.DraftStarted, mailbox_id: 'mbx_8' } },
      { type: 'DraftFrozen', data: frozen },
    );
    expect(await find('mbx_8', 'own@example.com')).to.deep.equal([]);
    await tellOf('drf_8', { type: 'SendDataBegun', data: SAMPLE_EVENTS.SendDataBegun });
    expect(await find('mbx_8', 'own@example.com')).to.deep.equal(['drf_8']);
    const given = { ...SAMPLE_EVENTS.DraftSent, rfc_message_id: sealSample('<given@example.com>') };
    await tellOf('drf_8', { type: 'DraftSent', data: given });
    expect(await find('mbx_8', 'x@example.com', 'given@example.com', '<own@example.com>')).to.deep.equal([
      'drf_8',
    ]);
    expect(await find('mbx_9', 'own@example.com'), 'of another mailbox').to.deep.equal([]);
    await happened(events, 'mailbox-mbx_8', [{ type: 'MailboxErased', data: {} }]);
    await rig.settle(projector);
    expect(await find('mbx_8', 'own@example.com')).to.deep.equal([]);
  });
});
