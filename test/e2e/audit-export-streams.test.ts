/** Exports of many lines: slow readers, broken connections, a rebuild in between. */
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyAudit } from '../../infra/console/verify-audit.mjs';
import type { Sql } from '../../commands/ports/ports.ts';
import { textOf } from '../../commands/ports/statement.ts';
import { runCommand } from '../support/servers/run-command.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, startTestGateway, type TestGateway, untilAvailable } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';

const EVENTS = 9_000;
const AT_ONCE = 100;
const NAMES = Array.from({ length: 60 }, (_, n) => `msg_${String(n).padStart(26, '0')}`);

describe('an export of many lines', function () {
  this.timeout(180_000);
  let folder: string;
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let reads: number;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-streams-'));
    gateway = await startTestGateway({ env: { KEY_FILE: join(folder, 'key') } });
    owner = await signInOwner(gateway);
    await written();
    reads = 0;
    const sql = gateway.gateway.ports.sql as { query: Sql['query'] };
    const query = sql.query.bind(sql);
    sql.query = (text, parameters) => {
      if (textOf(text).includes('sum(octet_length(body))')) reads += 1;
      return query(text, parameters);
    };
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** As reads of bodies are recorded: lines of a few kilobytes. */
  async function written(): Promise<void> {
    const { ports } = gateway.gateway;
    const { orgId } = gateway.tokens;
    const actor = { type: 'person', id: owner.userId, token_id: null, session_id: owner.sessionId };
    for (let at = 0; at < EVENTS; at += AT_ONCE) {
      const events = Array.from({ length: AT_ONCE }, () => ({
        id: ports.ids.newUuid(),
        type: 'BodiesRead',
        data: { mailbox_id: 'mbx_many', message_ids: NAMES, what: 'text' },
        metadata: {
          ...{ v: 1, org_id: orgId, actor, surface: 'rest', request_id: 'req_1', $correlationId: 'req_1' },
          ...{ $causationId: 'req_1', occurred_at: new Date().toISOString(), salt: ports.ids.newSalt() },
        },
      }));
      await ports.events.append('access-many-2026010101', at === 0 ? 'no-stream' : BigInt(at - 1), events);
    }
    const { events, readModels } = ports;
    expect(await readModels.waitFor(await events.headPosition(), 60_000)).to.equal(true);
  }

  const request = (query: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
    untilAvailable(
      () => requestOnce(query, headers),
      ({ statusCode }) => statusCode,
    );
  const requestOnce = (query: string, headers: Record<string, string>): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const url = `${gateway.baseUrl}/api/v1/audit/export?${query}`;
      httpGet(url, { headers: { authorization: `Bearer ${owner.bearer}`, ...headers } }, resolve).once(
        'error',
        reject,
      );
    });
  const bytesOf = async (answer: IncomingMessage): Promise<Buffer> => {
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  };
  /** The first bytes of an answer whose connection then breaks. */
  const broken = async (answer: IncomingMessage, least: number): Promise<Buffer> => {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of answer) {
      pieces.push(piece as Buffer);
      length += (piece as Buffer).length;
      if (length >= least) break;
    }
    answer.destroy();
    return Buffer.concat(pieces);
  };
  const idOf = ({ headers }: IncomingMessage): string => String(headers['audit-export-id']);
  const verdict = async (bytes: Buffer): Promise<readonly [number, string | null]> => {
    const { keys } = JSON.parse(bytes.subarray(0, bytes.indexOf('\n')).toString()) as { keys: string[] };
    const chunks = (async function* () {
      yield await Promise.resolve(bytes);
    })();
    const { exit, code } = await verifyAudit(chunks, { keys });
    return [exit, code];
  };

  it(`reads no further than its reader, and stops with it ${verifies('contract:12:export-slow')}`, async () => {
    const slow = await request('');
    const all = EVENTS / 1_000;
    await sleep(1_500);
    const before = reads;
    await sleep(1_000);
    expect(reads).to.equal(before);
    expect(before).to.be.lessThan(all);
    slow.destroy();
    await sleep(1_000);
    expect(reads).to.be.within(before, before + 1);
  });

  it(`is continued after a broken connection, to the same file ${verifies('contract:12:export-resume')}`, async () => {
    const first = await request('mailbox_id=mbx_many');
    const id = idOf(first);
    const head = await broken(first, 2_000_000);
    const again = await request(`export_id=${id}`, { range: `bytes=${String(head.length)}-` });
    expect(again.statusCode).to.equal(206);
    const second = await broken(again, 1_000_000);
    const rest = await request(`export_id=${id}`, { range: `bytes=${String(head.length + second.length)}-` });
    const file = Buffer.concat([head, second, await bytesOf(rest)]);
    expect(file.equals(await bytesOf(await request(`export_id=${id}`)))).to.equal(true);
    expect(await verdict(file)).to.deep.equal([0, null]);
  });

  it(`is the same file after a rebuild of the read model ${verifies('contract:12:export-resume')}`, async () => {
    const first = await request('disclose=people');
    const id = idOf(first);
    const file = await bytesOf(first);
    const { code, stderr } = await runCommand('infra/admin/rebuild.ts', ['audit'], {
      DATA_DIR: join(folder, 'data'),
      KEY_FILE: join(folder, 'key'),
      DATABASE_URL: gateway.gateway.databaseUrl,
      EVENTSTORE_URL: gateway.gateway.eventStoreUrl,
    });
    expect(code, stderr).to.equal(0);
    expect((await bytesOf(await request(`export_id=${id}`))).equals(file)).to.equal(true);
  });

  it(`lets nobody guess an address that it does not open ${verifies('contract:12:export-guess')}`, async () => {
    const address = 'quillanne.vandersloot@unlikely-domain.example';
    const invited = await owner.rest('POST', '/invites', { email: address, role: 'admin' });
    expect(invited.status).to.equal(201);
    await eventually(async () => {
      const { body } = await owner.rest('GET', '/audit?type=SystemMailAttempted&limit=1');
      expect(body.items).to.have.length(1);
    });
    const text = (await bytesOf(await request(''))).toString();
    expect(text).to.match(/sealed\.v2\./);
    const salts = new Set([...text.matchAll(/"salt":"([A-Za-z0-9+/]{22}==)"/g)].map(([, salt = '']) => salt));
    expect(salts.size).to.be.greaterThan(EVENTS);
    const guesses = [
      address,
      address.toUpperCase(),
      `"${address}"`,
      'owner@example.com',
      JSON.stringify({ email: address }),
    ];
    const keys = [
      Buffer.alloc(0),
      Buffer.alloc(16),
      ...[...salts].map((salt) => Buffer.from(salt, 'base64')),
    ];
    // Whatever is public and as long as a salt, in every form in which a hash or a text could stand there.
    const words = new Set(text.match(/[A-Za-z0-9_-]{43}|[A-Za-z0-9+/]{43}=|[0-9a-f]{64}/g));
    const hits = guesses.flatMap((guess) =>
      keys.flatMap((key) =>
        [Buffer.alloc(0), Buffer.of(2)].flatMap((tag) => {
          const hash = createHash('sha256').update(tag).update(key).update(guess).digest();
          return [hash.toString('base64url'), hash.toString('base64'), hash.toString('hex')].filter((form) =>
            words.has(form),
          );
        }),
      ),
    );
    expect(hits).to.deep.equal([]);
    for (const guess of guesses.slice(0, 2))
      for (const form of [guess, Buffer.from(guess).toString('base64'), Buffer.from(guess).toString('hex')])
        expect(text).not.to.include(form);
  });
});
