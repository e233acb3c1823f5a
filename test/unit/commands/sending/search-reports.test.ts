import { expect } from 'chai';
import { searchReports, type ReportSearches } from '../../../../commands/sending/search-reports.ts';
import type { ObservedChange } from '../../../../commands/ports/change-feed.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { DELIVERY_REPORTS } from '../../../support/samples/delivery-reports.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const received = (position: bigint, uid: number, index = 0): ObservedChange => ({
  position,
  index,
  kind: 'received',
  folderNumber: 1,
  uidValidity: 1,
  uid,
  flags: [],
  flagsBefore: null,
  operationId: null,
  alsoIn: [],
});

describe('the search for delivery reports', () => {
  let rig: SendRig;
  let draftId: string;
  let raw: string;
  let changes: ObservedChange[];
  let noted: bigint[];
  let readUids: number[];
  let known: boolean;

  /** A message that went out, and its report at UID 7. */
  beforeEach(async () => {
    rig = new SendRig();
    draftId = await rig.startDraft();
    const rfc_message_id = await rig.ports.personal.seal('mbx_0', '<the.one@example.com>');
    await rig.append(draftId, {
      type: 'DraftFrozen',
      data: { ...SAMPLE_EVENTS.DraftFrozen, rfc_message_id },
    });
    await rig.append(draftId, { type: 'SendStarted', data: SAMPLE_EVENTS.SendStarted });
    await rig.append(draftId, { type: 'SendDataBegun', data: SAMPLE_EVENTS.SendDataBegun });
    raw = DELIVERY_REPORTS.postfix('the.one@example.com');
    changes = [received(10n, 7)];
    noted = [];
    readUids = [];
    known = true;
  });
  const wentOut = (): Promise<void> =>
    rig.append(draftId, { type: 'DraftSent', data: { ...SAMPLE_EVENTS.DraftSent, rfc_message_id: null } });

  const ports = (): Ports => ({
    ...rig.ports,
    feed: { ...rig.ports.feed, changesAfter: () => Promise.resolve({ changes, upTo: 1_000n }) },
    readModels: { waitFor: () => Promise.resolve(known) },
    mail: {
      ...rig.ports.mail,
      withMailbox: (_, __, work) => {
        rig.mailbox.readBytes = ({ uid }) => {
          readUids.push(uid);
          return Promise.resolve(Buffer.from(raw));
        };
        return work(rig.mailbox);
      },
    },
  });
  const searches = (drafts: readonly string[] = [draftId]): ReportSearches => ({
    suspects: (_, places) => Promise.resolve(places),
    sentWith: () => Promise.resolve(drafts),
    note: (_, upTo) => {
      noted.push(upTo);
      return Promise.resolve();
    },
  });
  const search = (upTo = 50n, of = searches()): Promise<boolean> =>
    searchReports(ports(), of, { mailboxId: 'mbx_0', after: 0n, upTo });
  const reports = async () => (await rig.draft(draftId)).reports;

  it('records a report once, also when it is searched again after a crash', async () => {
    await wentOut();
    expect(await search()).to.equal(true);
    expect(await search()).to.equal(true);
    expect(noted).to.deep.equal([50n, 50n]);
    const [report, ...more] = await reports();
    expect(more).to.deep.equal([]);
    expect(report?.recipients.map(({ action, status }) => [action, status])).to.deep.equal([
      ['failed', '5.1.1'],
    ]);
  });

  it('waits for the outcome of a send whose server was faster', async () => {
    expect(await search()).to.equal(false);
    expect(noted).to.deep.equal([]);
    await wentOut();
    expect(await search()).to.equal(true);
    expect((await reports()).length).to.equal(1);
  });

  it('waits until the read models know of what was sent before', async () => {
    await wentOut();
    known = false;
    expect(await search()).to.equal(false);
    expect([readUids, noted]).to.deep.equal([[], []]);
  });

  it('leaves a draft alone that another message was sent of', async () => {
    await wentOut();
    raw = DELIVERY_REPORTS.postfix('another@example.com');
    expect(await search()).to.equal(true);
    expect(await reports()).to.deep.equal([]);
  });

  it('reads no further than the mirror reaches', async () => {
    await wentOut();
    changes = [received(10n, 7), received(20n, 8)];
    expect(await search(15n)).to.equal(true);
    expect([readUids, noted]).to.deep.equal([[7], [15n]]);
  });

  it('searches many changes in several steps, none of them in two', async () => {
    await wentOut();
    changes = Array.from({ length: 900 }, (_, at) =>
      received(BigInt(10 + Math.floor(at / 100)), at + 1, at % 100),
    );
    expect(await search(50n, { ...searches(), suspects: () => Promise.resolve([]) })).to.equal(true);
    expect(noted).to.deep.equal([12n, 15n, 50n]);
  });

  it('is not over while the feed is behind the mirror', async () => {
    await wentOut();
    expect(await search(2_000n)).to.equal(false);
    expect(noted).to.deep.equal([1_000n]);
  });

  it('takes a bounded number of reports about one draft', async () => {
    await wentOut();
    const one = raw;
    for (let n = 0; n < 55; n += 1) {
      raw = one.replace('20260302100001.AB12', `report-${String(n)}`);
      await search();
    }
    expect((await reports()).length).to.equal(50);
  });
});
