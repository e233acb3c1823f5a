import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';

describe('the attestation of a worker', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;
  let users = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
  });
  after(() => dovecot.dispose());
  beforeEach(async () => {
    users += 1;
    rig = await startSyncRig(dovecot.imap(), `attest${String(users)}`);
  });
  afterEach(() => rig.close());

  const arrive = (subject: string): Promise<unknown> =>
    appendMessages(dovecot.imap(), `attest${String(users)}`, [{ raw: plainMessage({ subject }) }]);
  const inbox = async (): Promise<{ readonly attested: boolean; readonly messages: number } | null> => {
    const { number, path } = rig.folder('INBOX');
    const answer = await rig.index.query(rig.whole(), queryOf({ folders: [{ number, path }] }));
    const attested = answer?.states[0]?.attested;
    return answer === null || attested === undefined ? null : { attested, messages: answer.messages.length };
  };
  const isAttested = async (): Promise<boolean> => (await inbox())?.attested === true;
  const lives = async (): Promise<readonly unknown[]> =>
    (await rig.ports.sql.query('select life from work.worker_heartbeat where until > now()')).map(
      ({ life }) => life,
    );
  const start = async (roundEveryMs: number): Promise<() => Promise<void>> => {
    const end = rig.work({ leaseMs: 60_000, roundEveryMs, beatEveryMs: 200 });
    await eventually(() => rig.entry().state === 'connected');
    await eventually(isAttested);
    return end;
  };
  /** As after a pause of the whole process: it beats again, and what it knew may be old. */
  const haltHeart = async (): Promise<void> => {
    const [before] = await lives();
    await eventually(async () => {
      // Again when a beat was under way: it keeps the life.
      await rig.ports.sql.query('update work.worker_heartbeat set until = now() where life = $1', [before]);
      const [now] = await lives();
      return now !== undefined && now !== before;
    });
  };

  it('is valid after a pause only when the worker has polled again', async () => {
    await start(60_000);
    await haltHeart();
    expect(await inbox()).to.deep.equal({ attested: false, messages: 0 });
    await arrive('after the pause');
    await eventually(isAttested);
    expect(await inbox(), 'with what it found').to.deep.equal({ attested: true, messages: 1 });
  });

  it('is valid with the next round when nothing happened', async () => {
    await start(300);
    await haltHeart();
    await eventually(isAttested);
  });

  it('is invalid when the process ends', async () => {
    const end = await start(60_000);
    await end();
    expect(await lives()).to.deep.equal([]);
    expect(await isAttested()).to.equal(false);
  });
});
