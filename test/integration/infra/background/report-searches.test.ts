import { expect } from 'chai';
import type { MailboxEntry } from '../../../../commands/ports/directory.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { ReportSearch } from '../../../../commands/sending/search-reports.ts';
import { createReportSearches, listReportSearches } from '../../../../infra/background/report-searches.ts';
import { drafts } from '../../../../projections/drafts.ts';
import { happened, sealSample } from '../../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { orgEntry } from '../../../support/worlds/people.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

describe('the mailboxes to search for delivery reports', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
    const projector = await rig.start({ projections: [drafts] });
    const frozen = { ...SAMPLE_EVENTS.DraftFrozen, rfc_message_id: sealSample('<own@example.com>') };
    for (const n of [1, 3]) {
      const started = { ...SAMPLE_EVENTS.DraftStarted, mailbox_id: `mbx_${String(n)}` };
      await happened(rig.events, `draft-drf_${String(n)}`, [
        { type: 'DraftStarted', data: started },
        { type: 'DraftFrozen', data: frozen },
        { type: 'SendDataBegun', data: SAMPLE_EVENTS.SendDataBegun },
      ] as unknown as Parameters<typeof happened>[2]);
    }
    await rig.settle(projector);
    for (const number of [1, 2, 3])
      await rig.sql.query(
        `insert into mirror.folder (mailbox_number, folder_number, uid_validity, uid_next, indexed_from, total, checked_at,
           feed_position) values ($1, 1, 9, 20, 10, 0, now(), 40), ($1, 2, 9, 1, 1, 0, now(), null)`,
        [number],
      );
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const FAR = '2100-01-01T00:00:00.000Z';

  const due = (except: readonly string[] = [], isDeleted = false): Promise<readonly ReportSearch[]> => {
    const states = { mbx_1: 'connected', mbx_2: 'connected', mbx_3: 'paused' };
    const organisations = isDeleted ? [['org_1', orgEntry('org_1', { eraseAt: FAR })] as const] : [];
    const mailboxes = Object.entries(states).map(([id, state]): [string, MailboxEntry] => [
      id,
      { id, state, orgId: 'org_1', number: Number(id.slice(4)) } as MailboxEntry,
    ]);
    const state = { mailboxes: new Map(mailboxes), organisations: new Map(organisations) };
    const directory = { state } as unknown as Ports['directory'];
    return listReportSearches({ sql: rig.sql, directory }, except, 10);
  };

  it('are those that are connected, sent something, and have changes that were not searched', async () => {
    const found = await due();
    expect(found).to.deep.equal([{ mailboxId: 'mbx_1', after: 0n, upTo: 40n }]);
    expect(await due(['mbx_1'])).to.deep.equal([]);
    expect(await due([], true), 'of a deleted organisation').to.deep.equal([]);
    const searches = createReportSearches(rig.sql);
    await searches.note('mbx_1', 30n);
    expect((await due())[0]?.after).to.equal(30n);
    await searches.note('mbx_1', 40n);
    // A slower search of another process.
    await searches.note('mbx_1', 20n);
    expect(await due()).to.deep.equal([]);
  });

  it('have to be read where the mirror is not complete', async () => {
    const place = (uid: number, uidValidity = 9) => ({ mailboxNumber: 1, folderNumber: 1, uidValidity, uid });
    const suspects = await createReportSearches(rig.sql).suspects(1, [place(5), place(15), place(5, 8)]);
    expect(suspects).to.deep.equal([place(5)]);
  });
});
