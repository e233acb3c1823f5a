import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Frontier } from '../../commands/audit/merkle.ts';
import { account, setNotifications, startErasure } from '../../commands/accounts/account.ts';
import { decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { eraseMailbox } from '../../commands/mailboxes/decide-settings.ts';
import { eraseMailboxContent } from '../../commands/mailboxes/erase-mailbox.ts';
import { mailbox } from '../../commands/mailboxes/mailbox.ts';
import { addPerson } from '../../commands/organisation/add-person.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';
import { checkpointAt } from '../../read-api/audit/checkpoints.ts';
import { byErasedKeys } from '../../infra/background/erasure-sweepers.ts';
import { systemClock } from '../../infra/platform/system-clock.ts';
import { loadMasterKey } from '../../infra/security/key-file.ts';
import { createPersonalData } from '../../infra/security/personal-data.ts';
import { confirmedGuesses, storedBytes, storedRows } from '../support/models/traces.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, type Json } from '../support/worlds/gateway.ts';
import { exportedFile } from '../support/worlds/exported-file.ts';
import { signInOwner } from '../support/worlds/sign-in.ts';
import { rebuiltReadModels } from '../support/worlds/rebuilt-read-models.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';

const SENDER = 'wilhelmina@correspondent.example';
const READER = 'theophilus@recipient.example';
const SUBJECT = 'Improbable tidings';
const RECEIVED = '<improbable-1@correspondent.example>';
const FILE = 'The attachment that anybody has.\n';
const MONTHS_MS = 60 * 86_400_000;

describe('an erased mailbox', function () {
  this.timeout(180_000);
  let folder: string;
  let keyFile: string;
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;
  /** What somebody may think was in it. */
  let guesses: readonly string[];

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    folder = await mkdtemp(join(tmpdir(), 'gateway-erased-'));
    keyFile = join(folder, 'master.key');
    world = await SendingWorld.open(dovecot, relay.port, { KEY_FILE: keyFile });
    guesses = [
      SENDER,
      READER,
      SUBJECT,
      RECEIVED,
      FILE,
      createHash('sha256').update(FILE).digest('hex'),
      await corresponded(),
    ];
  });
  after(async () => {
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const ports = (): Ports => world.gateway.gateway.ports;
  const call = (...[method, path, body]: readonly [string, string, object?]): Promise<Json> =>
    world.gateway
      .rest(method, path, body, { key: `${method} ${path}`.replace(/[^!-~]/g, '.').slice(-250) })
      .then((answer) => {
        expect(answer.status, JSON.stringify(answer.body)).to.be.lessThan(300);
        return answer.body;
      });

  /** A received mail, answered with an attachment; returns the Message-ID of the answer. */
  async function corresponded(): Promise<string> {
    const raw = `From: ${SENDER}\r\nSubject: ${SUBJECT}\r\nMessage-ID: ${RECEIVED}\r\n\r\nHello.\r\n`;
    await appendMessages(dovecot.imap(), 'anna', [{ raw }]);
    const path = `/mailboxes/${world.mailboxId}`;
    const message = await eventually(async () => {
      const { items } = await call('GET', `${path}/messages?folder=inbox&limit=100`);
      const [found] = (items as Json[]).filter(({ subject }) => subject === SUBJECT);
      if (!found) throw new Error('it has not arrived');
      return found;
    });
    const reply = await call('POST', `${path}/reply_to_thread`, {
      message_id: message.id,
      to_add: [READER],
      text: 'Thank you.',
      attachments: [
        {
          filename: 'tidings.txt',
          content_type: 'text/plain',
          content_base64: Buffer.from(FILE).toString('base64'),
        },
      ],
    });
    await call('POST', `/drafts/${String(reply.id)}/send_draft`, {});
    await world.waitForStatus(String(reply.id), 'sent');
    return String((await call('GET', `/drafts/${String(reply.id)}`)).message_id);
  }

  const stored = async () => [...(await storedRows(ports().sql)), ...(await storedBytes(ports().sql))];
  const later = (): Ports => ({
    ...ports(),
    clock: { ...systemClock, now: () => new Date(Date.now() + MONTHS_MS) },
  });
  /** One pass of a row of the background work, two months later. */
  const sweep = async (name: string): Promise<readonly string[]> => {
    const row = byErasedKeys(later()).find((each) => each.name === name);
    if (!row) throw new Error(name);
    const found = await row.find({
      now: later().clock.now(),
      limit: 100,
      except: [],
      ofOneMailbox: 9,
      busy: [],
    });
    for (const task of found) await row.settle(task);
    await ports().readModels.waitFor(await ports().events.headPosition(), 20_000);
    return found.map((task) => row.keyOf(task));
  };
  const leaves = async (trail: string): Promise<readonly Buffer[]> =>
    (
      await ports().sql.query<{ leaf: Buffer }>('select leaf from read.audit where trail = $1 order by seq', [
        trail,
      ])
    ).map(({ leaf }) => leaf);
  const told = async (ownerId: string): Promise<readonly unknown[]> =>
    (await ports().events.readStream(`personalData-${ownerId}`)).map(({ data, metadata }) => [
      data,
      metadata['org_id'],
    ]);
  const removed = async (mailboxId: string) => {
    await call('DELETE', `/mailboxes/${mailboxId}`);
    const entry = ports().directory.state.mailboxes.get(mailboxId);
    if (!entry) throw new Error('the mailbox is unknown');
    return entry;
  };

  it(`leaves the seals as they were, and nothing that confirms a guess ${verifies('contract:12:mailbox-erasure', 'contract:12:nothing-to-guess')}`, async () => {
    const { orgId } = world.gateway.tokens;
    const before = confirmedGuesses(await stored(), guesses);
    expect(before.length).to.be.greaterThan(0);
    await ports().seals.sealNow(orgId, (await leaves(orgId)).length);
    const checkpoint = await checkpointAt(ports().sql, orgId, 'latest');
    if (checkpoint === null) throw new Error('the trail is not sealed');
    const entry = await removed(world.mailboxId);
    expect(await eraseMailboxContent(later(), entry, [])).to.equal(true);
    await ports().readModels.waitFor(await ports().events.headPosition(), 20_000);
    expect(await told(world.mailboxId)).to.deep.equal([
      [{ owner_id: world.mailboxId, basis: 'mailbox_erased' }, orgId],
    ]);
    const tree = new Frontier();
    for (const leaf of (await leaves(orgId)).slice(0, checkpoint.size)) tree.push(leaf);
    expect(Buffer.from(tree.root()).toString('base64')).to.equal(checkpoint.root);
    await eventually(async () => {
      expect(confirmedGuesses(await stored(), guesses)).to.deep.equal([]);
    });
  });

  it(`is shown as erased, with the proof of it, in an exported file ${verifies('contract:12:mailbox-erasure', 'contract:12:nothing-to-guess')}`, async () => {
    const owner = await signInOwner(world.gateway);
    const { text, verdict } = await exportedFile(world.gateway, owner, 'disclose=people');
    expect([verdict.exit, verdict.code]).to.deep.equal([0, null]);
    expect(verdict.erased).to.be.greaterThan(10);
    expect(confirmedGuesses([{ type: 'file', raw: text }], guesses)).to.deep.equal([]);
  });

  it(`opens in no process, and is in no read model that is built again ${verifies('contract:12:mailbox-erasure')}`, async () => {
    const masterKey = await loadMasterKey(keyFile, { mayMake: false });
    const fresh = createPersonalData({ sql: ports().sql, clock: systemClock, masterKey });
    const texts = (await storedBytes(ports().sql)).flatMap(
      ({ raw }) => raw.match(/sealed\.v2\.mbx_[\w.-]+/g) ?? [],
    );
    expect(texts.length).to.be.greaterThan(10);
    for (const text of texts) expect(await fresh.prove(text as Sealed)).to.equal('erased');
    const { databaseUrl } = world.gateway.gateway;
    const { live, rebuilt, parked } = await rebuiltReadModels({
      databaseUrl,
      keyFile,
      events: ports().events,
    });
    expect(parked).to.equal(0);
    expect(rebuilt).to.deep.equal(live);
  });

  it('says nothing by the length of what stays', async () => {
    const raws = (await storedBytes(ports().sql)).map(({ raw }) => raw);
    const boxes = raws.flatMap((raw) =>
      [...raw.matchAll(/sealed\.v2\.mbx_\w+\.[\w-]{43}\.([\w-]+)/g)].map(([, box = '']) => box),
    );
    const rests = new Set(boxes.map((box) => Buffer.from(box, 'base64url').length % 32));
    expect([...rests]).to.have.length(1);
  });

  it(`gets its key erased late where a version before kept it, once ${verifies('contract:12:mailbox-erasure')}`, async () => {
    const { orgId } = world.gateway.tokens;
    const id = await world.gateway.addMailbox(dovecot.imap(), 'ben', relay.port);
    const [text] = (await ports().events.readStream(`mailbox-${id}`)).map(
      ({ data }) => data['email'] as Sealed,
    );
    await removed(id);
    const now = later().clock.now();
    const decide = (state: typeof mailbox.initial) => eraseMailbox(state, now);
    const { position } = await decideAndAppend(ports(), systemAuthor(ports(), orgId), mailbox, {
      id,
      decide,
    });
    await ports().directory.waitFor(position ?? 0n);
    expect(await ports().personal.open(text ?? ('' as Sealed))).to.equal('ben@example.com');
    expect(await sweep('erased-mailboxes')).to.deep.equal([id]);
    expect(await sweep('erased-mailboxes')).to.deep.equal([]);
    expect(await ports().personal.prove(text ?? ('' as Sealed))).to.equal('erased');
    expect(await told(id)).to.deep.equal([[{ owner_id: id, basis: 'mailbox_erased' }, orgId]]);
  });

  it(`is followed by people whom a version before erased in silence ${verifies('contract:12:erasure-told')}`, async () => {
    const { orgId } = world.gateway.tokens;
    const system = systemAuthor(ports(), orgId);
    const given = { orgId, email: 'ida@example.com', name: 'Ida', role: 'member' } as const;
    const userId = await addPerson(ports(), system, given);
    const actor = { type: 'person', id: userId, token_id: null, session_id: null } as const;
    await decideAndAppend(ports(), { ...system, actor }, account, {
      id: userId,
      decide: (state) => setNotifications(state, 'digest', 'person'),
    });
    await ports().personal.erase(userId);
    const decide = (state: typeof account.initial) => [
      ...startErasure(state, []),
      { type: 'AccountErased' as const, data: {} },
    ];
    await decideAndAppend(ports(), systemAuthor(ports(), null), account, { id: userId, decide });
    await ports().readModels.waitFor(await ports().events.headPosition(), 20_000);
    expect(await sweep('erased-accounts')).to.deep.equal([userId]);
    expect(await sweep('erased-accounts')).to.deep.equal([]);
    const data = { owner_id: userId, basis: 'account_erased' };
    expect(await told(userId)).to.deep.equal([
      [data, orgId],
      [data, null],
    ]);
  });

  it(`outlives the sources of refusals, which go after a month ${verifies('contract:12:sources-sealed')}`, async () => {
    const source = await ports().personal.seal('net_20260101', '192.0.2.7');
    expect(await sweep('sources-of-refusals')).to.deep.equal(['net_20260101']);
    expect(await sweep('sources-of-refusals')).to.deep.equal([]);
    expect(await ports().personal.prove(source)).to.equal('erased');
    expect(await told('net_20260101')).to.deep.equal([
      [{ owner_id: 'net_20260101', basis: 'retention_ended' }, null],
    ]);
  });
});
