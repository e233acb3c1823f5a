import { expect } from 'chai';
import { type ErrorCode, GatewayError } from '../../../../commands/values/errors.ts';
import { effectiveRoles, resolveFolder } from '../../../../commands/kernel/folders.ts';
import { recordMailFailure, recordMailHealth } from '../../../../commands/mailboxes/connect-mailbox.ts';
import { createMailbox, updateMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { putFolderRoles } from '../../../../commands/mailboxes/set-folder-roles.ts';
import { getFolderRoles } from '../../../../read-api/mailboxes/mailboxes.ts';
import { connectAndSync, greetMailbox } from '../../../support/worlds/connect.ts';
import { listedFolder } from '../../../support/fakes/fake-mail-port.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const auth = { type: 'password', username: 'box', password: 'secret' };

describe('recording the connection of a mailbox', () => {
  let gateway: MemoryGateway;
  let mailboxId: string;
  const entry = () => {
    const found = gateway.ports.directory.state.mailboxes.get(mailboxId);
    if (!found) throw new Error('the mailbox is gone');
    return found;
  };
  const meets = (code: ErrorCode, details = {}) => {
    gateway.mail.failure = new GatewayError(code, 'box@example.com was refused', { details });
    return connectAndSync(gateway.ports, mailboxId);
  };
  const written = () =>
    gateway.events.all.filter(({ streamName }) => streamName === `mailbox-${mailboxId}`).length;

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    const input = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    mailboxId = (await gateway.call<{ id: string }>(createMailbox, input)).id;
  });

  it("numbers the folders and stores the server's capabilities", async () => {
    expect(await connectAndSync(gateway.ports, mailboxId)).to.deep.equal({ outcome: 'connected' });
    expect(entry()).to.deep.include({ state: 'connected', capabilities: ['IDLE', 'MOVE', 'UIDPLUS'] });
    expect(effectiveRoles(entry())).to.deep.equal({ inbox: 1, trash: 2 });
    const last = gateway.events.all.at(-1);
    expect(last?.metadata).to.have.nested.property('actor.type', 'system');
    const before = written();
    await connectAndSync(gateway.ports, mailboxId);
    expect(written()).to.equal(before);
  });

  it("records a failure once, by a reason instead of the server's text, and recovers", async () => {
    expect(await meets('mailbox_unavailable', { reason: 'connect' })).to.include({
      outcome: 'connection_failed',
    });
    expect(entry()).to.include({ state: 'connection_failed', stateReason: 'connect' });
    const before = written();
    await meets('mailbox_unavailable', { reason: 'connect' });
    expect(written()).to.equal(before);
    await meets('target_blocked', { reason: 'box@example.com' });
    expect(entry()).to.include({ state: 'connection_failed', stateReason: 'target_blocked' });
    gateway.mail.failure = null;
    expect(await connectAndSync(gateway.ports, mailboxId)).to.include({ outcome: 'connected' });
    expect(entry()).to.include({ state: 'connected', stateReason: null });
  });

  it('records refused credentials as auth_failed', async () => {
    expect(await meets('mailbox_auth_failed')).to.include({ outcome: 'auth_failed' });
    expect(entry()).to.include({ state: 'auth_failed', stateReason: 'mailbox_auth_failed' });
  });

  it('passes on errors that are not about the mailbox', async () => {
    expect(await rejection(meets('overloaded'))).to.include({ code: 'overloaded' });
    expect(entry()).to.include({ state: 'connecting' });
  });

  it('records a refused folder list as a failure, but not a command refused later', async () => {
    expect(await meets('provider_rejected')).to.include({ outcome: 'connection_failed' });
    expect(entry()).to.include({ state: 'connection_failed', stateReason: 'folders_refused' });
    gateway.mail.failure = null;
    await connectAndSync(gateway.ports, mailboxId);
    await recordMailFailure(gateway.ports, mailboxId, new GatewayError('provider_rejected', 'no'));
    expect(entry()).to.include({ state: 'connected' });
  });

  it(`is syncing until every folder was synchronised once ${verifies('contract:4:mailbox-connects')}`, async () => {
    await greetMailbox(gateway.ports, mailboxId);
    expect(entry()).to.deep.include({ state: 'syncing', capabilities: ['IDLE', 'MOVE', 'UIDPLUS'] });
    const held = new GatewayError('mailbox_unavailable', 'later', {
      details: { reason: 'login_unavailable' },
    });
    await recordMailFailure(gateway.ports, mailboxId, held);
    expect(entry(), 'a limit of the provider').to.include({
      state: 'degraded',
      stateReason: 'login_unavailable',
    });
    await greetMailbox(gateway.ports, mailboxId);
    expect(entry()).to.include({ state: 'syncing', stateReason: null });
    await connectAndSync(gateway.ports, mailboxId);
    expect(entry()).to.include({ state: 'connected' });
    await recordMailFailure(gateway.ports, mailboxId, new GatewayError('mailbox_unavailable', 'down'));
    await greetMailbox(gateway.ports, mailboxId);
    expect(entry(), 'its folders were passed over before').to.include({ state: 'connected' });
  });

  it('skips a paused or unknown mailbox', async () => {
    await gateway.call(updateMailbox, { mailbox_id: mailboxId, paused: true });
    expect(await connectAndSync(gateway.ports, mailboxId)).to.deep.equal({ outcome: 'skipped' });
    expect(await connectAndSync(gateway.ports, 'mbx_unknown')).to.deep.equal({ outcome: 'skipped' });
  });

  it('records failures and successes of later connections', async () => {
    await connectAndSync(gateway.ports, mailboxId);
    const before = written();
    await recordMailHealth(gateway.ports, mailboxId);
    await recordMailFailure(gateway.ports, mailboxId, new Error('a defect'));
    expect(written()).to.equal(before);
    await recordMailFailure(gateway.ports, mailboxId, new GatewayError('mailbox_unavailable', 'down'));
    expect(entry()).to.include({ state: 'connection_failed', stateReason: 'mailbox_unavailable' });
    await recordMailHealth(gateway.ports, mailboxId);
    expect(entry()).to.include({ state: 'connected' });
  });
});

describe('management of folder roles', () => {
  let gateway: MemoryGateway;
  let mailboxId: string;
  const put = (roles: object) =>
    gateway.call<Record<string, string | null>>(putFolderRoles, { mailbox_id: mailboxId, roles });
  const get = () => gateway.call<Record<string, string | null>>(getFolderRoles, { mailbox_id: mailboxId });

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    const input = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    mailboxId = (await gateway.call<{ id: string }>(createMailbox, input)).id;
    gateway.mail.folders.push(listedFolder('Old mail', { uidValidity: 13 }));
    await connectAndSync(gateway.ports, mailboxId);
  });

  it('lists every role, with null for a missing one', async () => {
    const roles = await get();
    expect(Object.keys(roles)).to.have.length(9);
    expect(roles).to.include({ archive: null, flagged: null });
    expect(roles['inbox']).to.match(/^fld_/);
  });

  it(`maps and unmaps roles, and creates missing folders ${verifies('contract:4:folder-roles')}`, async () => {
    const { ports, mail } = gateway;
    const oldMail = ports.locators.folder(1, 3);
    expect(await put({ archive: oldMail, trash: null })).to.include({ archive: oldMail, trash: null });
    const { junk } = await put({ junk: { create: 'Spam' } });
    expect(mail.folders.map(({ path }) => path)).to.include('Spam');
    expect(junk).to.equal(ports.locators.folder(1, 4));
    const entry = ports.directory.state.mailboxes.get(mailboxId);
    expect(entry && resolveFolder(entry, 'spam', ports.locators)).to.deep.equal({ number: 4, path: 'Spam' });
    expect(await get()).to.include({ archive: oldMail, junk });
  });

  it('uses an existing folder', async () => {
    const before = gateway.mail.folders.length;
    expect(await put({ archive: { create: 'Old mail' } })).to.include({
      archive: gateway.ports.locators.folder(1, 3),
    });
    expect(gateway.mail.folders).to.have.length(before);
  });

  it('refuses a folder of another mailbox, unknown roles and an empty map', async () => {
    expect(await rejection(put({ archive: gateway.ports.locators.folder(2, 1) }))).to.include({
      code: 'not_found',
    });
    expect(await rejection(put({ outbox: null }))).to.include({ code: 'invalid_request' });
    expect(await rejection(put({}))).to.include({ code: 'invalid_request' });
  });
});
