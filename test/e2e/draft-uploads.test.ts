import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/dovecot.ts';
import { startWithMailbox, type TestGateway } from '../support/gateway.ts';
import { DraftCalls } from './draft-calls.ts';

const MIB = 1024 * 1024;

/** What lives is told from what only waits to be collected. */
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('large uploads', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let path: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    const { gateway: started, mailboxId } = await startWithMailbox(dovecot);
    gateway = started;
    const { id } = await new DraftCalls(gateway, mailboxId).started({ subject: 'large' });
    path = `${gateway.baseUrl}/api/v1/drafts/${String(id)}/attachments`;
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const live = async (): Promise<number> => {
    collectGarbage();
    // The memory of buffers is given back a turn later.
    await nextTurn();
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };

  /** Sends without telling the length, as fast as it is taken; `look` runs now and then. */
  const upload = async (pieces: number, look: () => Promise<void>): Promise<number> => {
    const headers = {
      authorization: `Bearer ${gateway.tokens.restToken}`,
      'content-type': 'application/zip',
    };
    const request = http.request(path, { method: 'POST', headers });
    const response = once(request, 'response') as Promise<[http.IncomingMessage]>;
    const answered = response.then(([{ statusCode = 0 }]) => statusCode);
    const state = { isOver: false };
    void answered.finally(() => (state.isOver = true));
    // Writing to a connection that was answered and closed is no failure of the test.
    request.on('error', () => undefined);
    const piece = randomBytes(MIB);
    for (let sent = 0; sent < pieces && !state.isOver; sent += 1) {
      if (!request.write(piece)) await Promise.race([once(request, 'drain'), answered]);
      if (sent % 4 === 0) await look();
    }
    request.end();
    return await answered;
  };

  it('pass through with memory flat, and are cut off at 25 MiB', async () => {
    const before = await live();
    let most = 0;
    const look = async (): Promise<void> => {
      most = Math.max(most, (await live()) - before);
    };
    expect(await upload(25, look)).to.equal(201);
    expect(most, 'bytes held, client and server together').to.be.below(6 * MIB);
    expect(await upload(27, () => Promise.resolve())).to.equal(413);
    const [row] = await gateway.gateway.ports.sql.query(
      'select count(*)::int as n from vault.content where kind = $1',
      ['upload'],
    );
    expect(row?.['n'], 'nothing is left of what was cut off').to.equal(1);
  });
});
