import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const MESSAGES = 1_500;

describe('mirrors from before threads', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;

  before(async function () {
    dovecot = await requireTestDovecot(this);
  });
  after(() => dovecot.dispose());

  it(`get their threads from the worker, step by step ${verifies('contract:4:threads-need-index')}`, async () => {
    const raws = Array.from({ length: MESSAGES }, (_, at) =>
      plainMessage({
        id: `<${String(at)}@example.com>`,
        subject: 'One of many',
        headers: at === 0 ? [] : [`In-Reply-To: <${String(at - 1)}@example.com>`],
      }),
    );
    await appendMessages(
      dovecot.imap(),
      'older',
      raws.map((raw) => ({ raw })),
    );
    const rig = await startSyncRig(dovecot.imap(), 'older');
    const { sql } = rig.ports;
    const threads = async () => await rig.index.threads(rig.whole(), { messages: [], ids: [] });
    try {
      const end = rig.work();
      await eventually(async () => (await threads()) !== null, 30_000);
      await end();
      await sql.query('delete from mirror.thread_name');
      await sql.query('delete from mirror.thread');
      await sql.query('update mirror.folder set named_from = default');
      expect(await threads()).to.equal(null);
      rig.work();
      await eventually(async () => (await threads()) !== null, 30_000);
      const found = await sql.query<{ names: number }>('select names from mirror.thread');
      expect(found.map(({ names }) => names)).to.deep.equal([MESSAGES]);
    } finally {
      await rig.close();
    }
  });
});
