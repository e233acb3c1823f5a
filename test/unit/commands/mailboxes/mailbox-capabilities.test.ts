import { expect } from 'chai';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { MAILBOX_SCOPES } from '../../../../commands/values/scopes.ts';
import {
  createMailbox,
  deleteMailbox,
  updateMailbox,
} from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { eraseMailboxContent, listDueErasures } from '../../../../commands/mailboxes/erase-mailbox.ts';
import type { Mailbox } from '../../../../commands/mailboxes/mailbox-payload.ts';
import { putCredentials } from '../../../../commands/mailboxes/store-credentials.ts';
import { testConnection } from '../../../../commands/mailboxes/test-connection.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { getMailbox, listMailboxes } from '../../../../read-api/mailboxes/mailboxes.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import {
  type CallOptions,
  type MemoryGateway,
  startMemoryGateway,
} from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const auth = { type: 'password', username: 'box', password: 'a secret of the box' };
const wanted = { email: 'box@example.com', display_name: 'The box', imap: IMAP, smtp: SMTP, auth };
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

describe('mailbox management', () => {
  let gateway: MemoryGateway;
  const add = (change: object = {}, options: CallOptions = {}): Promise<Mailbox> =>
    gateway.call<Mailbox>(createMailbox, { ...wanted, ...change }, options);
  const patch = (id: string, change: object, options: CallOptions = {}): Promise<Mailbox> =>
    gateway.call<Mailbox>(updateMailbox, { mailbox_id: id, ...change }, options);
  const issue = (change: object) =>
    gateway.call<{ id: string }>(createToken, {
      name: 'Other',
      surface: 'rest',
      expires_at: '2026-03-10T00:00:00Z',
      ...change,
    });

  beforeEach(async () => {
    gateway = await startMemoryGateway();
  });

  it(`adds a mailbox with credentials and a full grant of the creator in one append ${verifies('contract:3:creator-grant')}`, async () => {
    const made = await add();
    expect(made).to.deep.include({
      email: 'box@example.com',
      display_name: 'The box',
      state: 'pending',
      imap: IMAP,
    });
    const stream = gateway.events.all.filter(({ streamName }) => streamName === `mailbox-${made.id}`);
    expect(stream.map(({ type }) => type)).to.deep.equal([
      'MailboxAdded',
      'MailboxCredentialsStored',
      'GrantGiven',
    ]);
    expect(gateway.events.attempts.at(-1)?.events).to.have.length(3);
    expect(gateway.secrets.mail.get(made.id)).to.deep.equal({
      kind: 'password',
      username: 'box',
      password: auth.password,
    });
    const access = gateway.callerOf(gateway.ownerTokenId).mailboxes.get(made.id);
    expect([...(access?.scopes ?? [])]).to.have.members([...MAILBOX_SCOPES]);
    expect(await gateway.call(getMailbox, { mailbox_id: made.id })).to.deep.equal(made);
  });

  it(`never shows credentials ${verifies('contract:17:credentials')}`, async () => {
    const made = await add({}, { key: 'k' });
    await gateway.call(putCredentials, { mailbox_id: made.id, password: 'another secret' });
    const log = JSON.stringify(gateway.events.all.map(({ data, metadata }) => [data, metadata]));
    for (const secret of [auth.password, 'another secret']) expect(log).not.to.contain(secret);
    expect(JSON.stringify(made)).not.to.contain(auth.password);
  });

  it(`numbers mailboxes one by one, and skips numbers that another mailbox reserved ${verifies('contract:1:mailbox-number')}`, async () => {
    const { ports, events } = gateway;
    await add();
    const reservation = events.all.find(({ streamName }) => streamName === 'mailboxNumber-1');
    expect(reservation?.type).to.equal('MailboxNumberReserved');
    const metadata = reservation?.metadata ?? {};
    await events.append('mailboxNumber-2', 'no-stream', [
      { id: ports.ids.newUuid(), type: 'MailboxNumberReserved', data: { mailbox_id: 'mbx_other' }, metadata },
    ]);
    const { id } = await add();
    expect(ports.directory.state.mailboxes.get(id)?.number).to.equal(3);
  });

  it(`leaves the key free when a host is blocked ${verifies('contract:14:refused-frees', 'contract:18:egress')}`, async () => {
    gateway.mail.blockedHosts.add(SMTP.host);
    expect(await rejection(add({}, { key: 'k' }))).to.include({ code: 'target_blocked' });
    expect(gateway.secrets.mail.size).to.equal(0);
    gateway.mail.blockedHosts.clear();
    expect(await add({}, { key: 'k' })).to.include({ state: 'pending' });
  });

  it(`adds one mailbox per key ${verifies('contract:14:accepted')}`, async () => {
    const first = await add({}, { key: 'k' });
    expect((await gateway.invoke(createMailbox, wanted, { key: 'k' })).replayed).to.equal(true);
    expect((await add({}, { key: 'k' })).id).to.equal(first.id);
    expect(await rejection(add({ email: 'x@example.com' }, { key: 'k' }))).to.include({
      code: 'idempotency_key_reused',
    });
  });

  it('adds one mailbox when the answer of the store was lost', async () => {
    const losing = new Proxy(gateway.events, {
      get: (target, property) => {
        if (property === 'append') {
          return async (...args: Parameters<typeof target.append>) => {
            if (args[0].startsWith('mailbox-')) target.loseNextAnswer = true;
            return await target.append(...args);
          };
        }
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const { ports, events } = gateway;
    Object.assign(ports, { events: losing });
    expect(await rejection(add({}, { key: 'k' }))).to.include({ code: 'store_unavailable' });
    Object.assign(ports, { events });
    await ports.directory.waitFor(await events.headPosition());
    expect(await add({}, { key: 'k' })).to.include({ state: 'pending' });
    expect(events.all.filter(({ type }) => type === 'MailboxAdded')).to.have.length(1);
  });

  it('changes fields with the version as guard', async () => {
    const { id, version } = await add();
    const renamed = await patch(id, { display_name: 'New' }, { ifMatch: String(version) });
    expect(renamed).to.include({ display_name: 'New', version: version + 1 });
    const stale = await rejection(patch(id, { display_name: 'Newer' }, { ifMatch: String(version) }));
    expect(stale).to.deep.include({ code: 'version_conflict' });
    expect(await patch(id, { display_name: 'New' })).to.include({ version: version + 1 });
    expect(await patch(id, { display_name: null })).to.include({ display_name: null });
    expect(await rejection(patch(id, { displayName: 'x' }))).to.include({ code: 'invalid_request' });
  });

  it('replays a repeated change with the current state and runs it once', async () => {
    const { id } = await add();
    await patch(id, { display_name: 'A' }, { key: 'k' });
    await patch(id, { display_name: 'B' });
    expect(await patch(id, { display_name: 'A' }, { key: 'k' })).to.include({ display_name: 'B' });
  });

  it(`requires credentials to change the host ${verifies('contract:17:update-mailbox')}`, async () => {
    const { id } = await add();
    const imap = { ...IMAP, host: 'other.example.com' };
    expect(await rejection(patch(id, { imap }))).to.include({ code: 'invalid_request' });
    gateway.mail.blockedHosts.add('other.example.com');
    expect(await rejection(patch(id, { imap, auth }))).to.include({ code: 'target_blocked' });
    gateway.mail.blockedHosts.clear();
    const moved = await patch(id, { imap, auth: { ...auth, password: 'for the other' } });
    expect(moved).to.deep.include({ imap, state: 'pending' });
    expect(gateway.secrets.mail.get(id)).to.have.property('password', 'for the other');
    expect(gateway.mail.disconnected).to.deep.equal([id]);
  });

  it('pauses and resumes a mailbox', async () => {
    const { id } = await add();
    expect(await patch(id, { paused: true })).to.include({ state: 'paused' });
    expect(gateway.mail.disconnected).to.deep.equal([id]);
    expect(await patch(id, { paused: false })).to.include({ state: 'pending' });
  });

  it('replaces credentials for the same user name', async () => {
    const { id } = await add();
    expect(await gateway.call(putCredentials, { mailbox_id: id, password: 'new' })).to.deep.equal({});
    expect(gateway.secrets.mail.get(id)).to.deep.equal({
      kind: 'password',
      username: 'box',
      password: 'new',
    });
  });

  /** Ids of the mailboxes erased now. */
  const eraseDue = async (ports = gateway.ports): Promise<readonly string[]> => {
    const erased: string[] = [];
    for (const due of listDueErasures(ports, ports.clock.now()))
      if (await eraseMailboxContent(ports, due, [])) erased.push(due.id);
    return erased;
  };

  it(`removes, restores, and after a week erases a mailbox with its mirror ${verifies('contract:4:mailbox-removed', 'contract:12:mailbox-index-erased', 'contract:12:mailbox-erasure')}`, async () => {
    const { id } = await add();
    const removed = await gateway.call<Mailbox>(deleteMailbox, { mailbox_id: id });
    expect(removed).to.include({ state: 'removed' });
    expect(removed).to.have.property('erase_at');
    expect(await gateway.call<{ items: [] }>(listMailboxes, {}))
      .to.have.property('items')
      .with.length(0);
    expect(await rejection(patch(id, { display_name: 'x' }))).to.include({ code: 'conflict' });
    expect(await patch(id, { restore: true })).to.include({ state: 'pending' });
    await gateway.call(deleteMailbox, { mailbox_id: id });
    gateway.clock.advance(WEEK_MS - 1);
    expect(await eraseDue()).to.deep.equal([]);
    expect(gateway.secrets.mail.has(id)).to.equal(true);
    gateway.clock.advance(1);
    const erased: string[] = [];
    const mirrorVersions = {
      ...gateway.ports.mirrorVersions,
      erase: async (mailbox: { readonly id: string }) => void erased.push(mailbox.id),
    };
    expect(await eraseDue({ ...gateway.ports, mirrorVersions })).to.deep.equal([id]);
    expect(erased).to.deep.equal([id]);
    expect(gateway.secrets.mail.has(id)).to.equal(false);
    expect(await gateway.ports.personal.open(`sealed:${id}:box` as Sealed)).to.equal(null);
    const told = gateway.events.all.filter(({ streamName }) => streamName === `personalData-${id}`);
    expect(told.map(({ type, data, metadata }) => [type, data, metadata['org_id']])).to.deep.equal([
      ['PersonalDataErased', { owner_id: id, basis: 'mailbox_erased' }, gateway.org.orgId],
    ]);
    expect(await eraseDue()).to.deep.equal([]);
    expect(await rejection(patch(id, { restore: true }))).to.include({ code: 'not_found' });
    expect(await rejection(gateway.call(getMailbox, { mailbox_id: id }))).to.include({ code: 'not_found' });
  });

  it(`tests stored credentials on the stored hosts only ${verifies('contract:17:connection-tests')}`, async () => {
    const { id } = await add();
    const report = await gateway.call(testConnection, { mailbox_id: id });
    expect(report).to.deep.equal({
      imap: { ok: true, stage: 'ready', latency_ms: 5 },
      smtp: { ok: false, stage: 'login', latency_ms: 5, error: 'refused' },
    });
    const imap = { ...IMAP, port: 1993 };
    const other = rejection(gateway.call(testConnection, { mailbox_id: id, imap }));
    expect(await other).to.include({ code: 'invalid_request' });
    await gateway.call(testConnection, { mailbox_id: id, imap, auth: { ...auth, password: 'typed' } });
    const sent = [...gateway.mail.tested, ...gateway.submission.tested].map(({ settings, login }) => [
      settings.port,
      login.kind === 'password' ? login.password : null,
    ]);
    expect(sent).to.deep.equal([[993, auth.password], [1993, 'typed'], [465, auth.password], [465, 'typed']]); // prettier-ignore
  });

  it('hides mailboxes from a token that is bound to others', async () => {
    const [first, second] = [await add(), await add()];
    const scopes = ['mailboxes:read', 'mailboxes:manage'];
    const { id: token } = await issue({ scopes, mailbox_ids: [first.id] });
    const { items } = await gateway.call<{ items: Mailbox[] }>(listMailboxes, {}, { token });
    expect(items.map(({ id }) => id)).to.deep.equal([first.id]);
    const foreign = rejection(gateway.call(getMailbox, { mailbox_id: second.id }, { token }));
    expect(await foreign).to.include({ code: 'not_found' });
    expect(await rejection(add({}, { token }))).to.include({ code: 'insufficient_scope' });
    const { id: reader } = await issue({ scopes: ['mailboxes:read'] });
    const refused = rejection(gateway.call(deleteMailbox, { mailbox_id: first.id }, { token: reader }));
    expect(await refused).to.include({ code: 'insufficient_scope' });
  });
});
