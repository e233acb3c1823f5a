/** What is left of a person after an erasure: looked for in every byte that the stores hold. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Frontier } from '../../commands/audit/merkle.ts';
import { account, renameAccount } from '../../commands/accounts/account.ts';
import { decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';
import { loadMasterKey } from '../../infra/security/key-file.ts';
import { createPersonalData } from '../../infra/security/personal-data.ts';
import { systemClock } from '../../infra/platform/system-clock.ts';
import { type Checkpoint, checkpointAt } from '../../read-api/audit/checkpoints.ts';
import { MailLog } from '../support/fakes/mail-log.ts';
import { confirmedGuesses, storedBytes, storedRows, tracesOf } from '../support/models/traces.ts';
import { verifies } from '../support/suite/verifies.ts';
import { callRest, eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { exportedFile } from '../support/worlds/exported-file.ts';
import { rebuiltReadModels } from '../support/worlds/rebuilt-read-models.ts';
import { PERSON_PASSWORD, type SignedInPerson, signInOwner, signInWith } from '../support/worlds/sign-in.ts';

const EMAIL = 'quillanne.vandersloot@unlikely-domain.example';
const NAMES = ['Quillanne Vandersloot', 'Quillanne Oppenhuizen'] as const;
const AGENT = 'Unlikely-Browser/77.7';

const formsOf = (text: string): readonly string[] =>
  [text, text.toLowerCase()].flatMap((each) => [
    each,
    Buffer.from(each).toString('hex'),
    Buffer.from(each).toString('base64').replace(/=+$/, ''),
  ]);

describe('an erased person', function () {
  this.timeout(180_000);
  let folder: string;
  let keyFile: string;
  let gateway: TestGateway;
  let mails: MailLog;
  let person: SignedInPerson;
  let agentId: string;
  /** Of the trail before the erasure. */
  let checkpoint: Checkpoint | null;

  const post = (path: string, body: object) =>
    callRest(gateway.baseUrl, ['POST', path, body], { headers: { 'user-agent': AGENT } });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-erasure-'));
    keyFile = join(folder, 'master.key');
    mails = new MailLog();
    gateway = await startTestGateway({ env: { KEY_FILE: keyFile }, log: mails });
    const owner = await signInOwner(gateway);
    const { body: made } = await owner.rest('POST', '/invites', { email: EMAIL, role: 'admin' });
    const token = await mails.tokenOf('invite', made.id as string);
    const accepted = await post('/auth/invites/accept', { token, name: NAMES[0], password: PERSON_PASSWORD });
    expect(accepted.status, JSON.stringify(accepted.body)).to.equal(204);
    await post('/auth/login', { email: EMAIL, password: 'a wrong passphrase here' });
    await post('/auth/login', { email: EMAIL, password: PERSON_PASSWORD });
    person = await signInWith(gateway.baseUrl, EMAIL);
    await person.rest('PATCH', '/users/me', { name: NAMES[1] });
    const { body: agent } = await person.rest('POST', '/agents', { name: 'Bot' });
    agentId = agent.id as string;
    const wanted = { name: 'One', surface: 'rest', scopes: ['messages:read'], expires_at: soon() };
    await person.rest('POST', '/tokens', { ...wanted, principal_id: agentId });
    expect((await person.rest('POST', '/tokens', wanted)).status).to.equal(201);
    expect((await person.rest('GET', '/mailboxes/mbx_0')).status).to.equal(404);
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const soon = (): string => new Date(Date.now() + 3_600_000).toISOString();
  const sql = (): Sql => gateway.gateway.ports.sql;
  const devicesOf = async (userId: string): Promise<number> =>
    (await sql().query('select device from work.known_device where user_id = $1', [userId])).length;

  it('is in the rows before, so that the search finds something', async () => {
    const rows = await storedRows(sql());
    const found = rows.filter(({ raw }) => formsOf(EMAIL).some((form) => raw.includes(form)));
    expect(found.map(({ type }) => type)).to.satisfy((types: string[]) => types.length > 0);
    expect(await devicesOf(person.userId)).to.be.greaterThan(0);
  });

  it(`exports what is held about them, and of others only ids ${verifies('contract:17:export')}`, async () => {
    const { body: invited } = await person.rest('POST', '/invites', {
      email: 'other@example.net',
      role: 'member',
    });
    const { ports } = gateway.gateway;
    const name = await ports.personal.seal(person.userId, NAMES[1]);
    const { position } = await decideAndAppend(ports, systemAuthor(ports, null), account, {
      id: person.userId,
      decide: (state) => renameAccount(state, name),
    });
    expect(await ports.readModels.waitFor(position ?? 0n, 10_000)).to.equal(true);
    const { status, body } = await person.rest('GET', '/users/me/export');
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.account).to.deep.include({ id: person.userId, email: EMAIL, name: NAMES[1] });
    expect(body.tokens).to.have.length(2);
    expect(body.agents).to.have.length(1);
    expect(body.sessions.length).to.be.greaterThan(1);
    expect(body.invites.map(({ id }: { id: string }) => id)).to.deep.equal([invited.id]);
    const text = JSON.stringify(body);
    expect(text).to.contain('AccountRenamed').and.to.contain('TokenIssued');
    expect(text).not.to.contain('other@example.net');
    expect(text).not.to.contain('secret');
    const lines = body.audit.items as {
      org_id: string | null;
      actor: { id: string };
      type: string;
      data: object;
    }[];
    const [own, inOrganisations] = [
      lines.filter((line) => line.org_id === null),
      lines.filter((line) => line.org_id !== null),
    ];
    expect(inOrganisations.every(({ actor }) => actor.id === person.userId)).to.equal(true);
    expect(inOrganisations).to.have.length.greaterThan(5);
    expect(own.map(({ type, data }) => [type, data])).to.deep.equal([['AccountRenamed', { name: NAMES[1] }]]);
    expect(body.audit.page.next_cursor).to.equal(null);
    expect((await gateway.rest('GET', '/users/me/export')).status).to.equal(403);
    const bad = await person.rest('GET', '/users/me/export?cursor=abc.def');
    expect(bad.body.error.code).to.equal('cursor_invalid');
    expect((await person.rest('DELETE', `/invites/${invited.id as string}`)).status).to.equal(204);
  });

  it(`leaves no name and no address in any row, and nothing that opens ${verifies('contract:12:erasure')}`, async () => {
    const { ports } = gateway.gateway;
    await ports.seals.sealNow(gateway.tokens.orgId, 10);
    checkpoint = await checkpointAt(sql(), gateway.tokens.orgId, 'latest');
    expect((await person.rest('DELETE', '/users/me')).status).to.equal(202);
    const texts = [EMAIL, ...NAMES, AGENT];
    await eventually(async () => {
      const rows = await storedRows(sql());
      const found = rows.filter(({ raw }) => texts.flatMap(formsOf).some((form) => raw.includes(form)));
      expect(found.map(({ type, raw }) => `${type}: ${raw.slice(0, 200)}`)).to.deep.equal([]);
    });
    const events = await storedBytes(sql());
    expect(tracesOf(events, texts)).to.deep.equal([]);
    const masterKey = await loadMasterKey(keyFile, { mayMake: false });
    const personal = createPersonalData({ sql: sql(), clock: systemClock, masterKey });
    const sealed = events.flatMap(({ raw }) =>
      [...raw.matchAll(/sealed\.v\d\.[\w-]+\.[\w-]+\.[\w-]+/g)].map(([text]) => text as Sealed),
    );
    const own = sealed.filter((text) => text.startsWith(`sealed.v2.${person.userId}.`));
    expect(own.length).to.be.greaterThan(5);
    const ofAgent = sealed.filter((text) => text.startsWith(`sealed.v2.${agentId}.`));
    expect(ofAgent.length).to.be.greaterThan(0);
    for (const text of [...own, ...ofAgent]) expect(await personal.open(text)).to.equal(null);
    // The mail about the erasure holds the address under a key of its own until it is sent.
    await eventually(async () => {
      const later = createPersonalData({ sql: sql(), clock: systemClock, masterKey });
      for (const text of sealed) expect(texts).not.to.include(await later.open(text));
    });
    expect(await devicesOf(person.userId)).to.equal(0);
  });

  it(`is not confirmed to who guesses, and what was sealed stays as it was ${verifies('contract:12:nothing-to-guess')}`, async () => {
    const guesses = [EMAIL, ...NAMES, AGENT, JSON.stringify({ ip: '127.0.0.1', user_agent: AGENT })];
    const stored = [...(await storedRows(sql())), ...(await storedBytes(sql()))];
    expect(confirmedGuesses(stored, guesses)).to.deep.equal([]);
    const planted = { type: 'planted', raw: createHash('sha256').update(EMAIL).digest('base64url') };
    expect(confirmedGuesses([planted], guesses)).to.have.length(1);
    const lines = await sql().query<{ leaf: Buffer }>(
      'select leaf from read.audit where trail = $1 order by seq limit $2',
      [gateway.tokens.orgId, checkpoint?.size],
    );
    const tree = new Frontier();
    for (const { leaf } of lines) tree.push(leaf);
    expect(Buffer.from(tree.root()).toString('base64')).to.equal(checkpoint?.root);
  });

  it(`is shown as erased, with the proof of it, in an exported file ${verifies('contract:12:erasure-told', 'contract:12:nothing-to-guess')}`, async () => {
    const owner = await signInOwner(gateway);
    // Until the mail about the erasure is sent and its address is gone.
    const file = await eventually(async () => {
      const { text, verdict } = await exportedFile(gateway, owner, 'disclose=people');
      expect([verdict.exit, verdict.code]).to.deep.equal([0, null]);
      expect(verdict.erased).to.be.greaterThan(5);
      expect(verdict.erasedUnproven).to.equal(0);
      return text;
    });
    const guesses = [EMAIL, ...NAMES, AGENT];
    expect(confirmedGuesses([{ type: 'file', raw: file }], guesses)).to.deep.equal([]);
    expect(file).to.contain(`sealed.v2.${person.userId}.`);
  });

  it(`is in no read model that is built again, and the trail is whole ${verifies('contract:12:erasure')}`, async () => {
    const { databaseUrl, ports } = gateway.gateway;
    const { live, rebuilt, parked } = await rebuiltReadModels({ databaseUrl, keyFile, events: ports.events });
    expect(parked).to.equal(0);
    expect(rebuilt).to.deep.equal(live);
    const ofPerson = (live['directory'] ?? '').split('\n').filter((row) => row.includes(person.userId));
    expect(ofPerson.map((row) => /\w+/.exec(row)?.[0])).to.deep.equal(['agentOwners']);
    const owner = await signInOwner(gateway);
    const { body } = await owner.rest('GET', `/audit?actor=${person.userId}`);
    expect(body.items).to.have.length.greaterThan(5);
    const { body: told } = await owner.rest('GET', `/audit?type=PersonalDataErased`);
    expect(
      told.items.map(({ resource, data }: { resource: object; data: object }) => [resource, data]),
    ).to.deep.equal([
      [
        { type: 'user', id: person.userId },
        { owner_id: person.userId, basis: 'account_erased' },
      ],
      [
        { type: 'agent', id: agentId },
        { owner_id: agentId, basis: 'account_erased' },
      ],
    ]);
  });
});
