/** A small organisation's log: people, a token, a mailbox with folders and grants, operations, refusals. */
import type { EventStore } from '../../../commands/ports/event-store.ts';
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Fact } from '../../../commands/values/event.ts';
import { happened, sampleAuthor, sealSample } from './event-author.ts';

export const ORG = 'org_a';
export const OWNER = 'usr_00000000000000000000000001';
export const AGENT = 'agt_00000000000000000000000001';
export const TOKEN = 'tok_00000000000000000000000001';
export const MAILBOX = 'mbx_00000000000000000000000001';
export const GRANT = 'grt_00000000000000000000000001';
export const AGENT_GRANT = 'grt_00000000000000000000000002';

const host = { host: 'mail.example', port: 993, security: 'tls' as const };
const terms = { folder_roles: null, expires_at: null, quotas: null };

const tokenIssued: Fact<AnyEvent> = {
  type: 'TokenIssued',
  data: {
    principal_id: OWNER,
    principal_kind: 'user',
    name: 'laptop',
    surface: 'rest',
    scopes: ['messages:read', 'audit:read'],
    mailbox_ids: null,
    expires_at: '2027-01-01T00:00:00.000Z',
    secret_hash: sealSample('hash-1'),
  },
};

export const grantGiven = (grantId: string, principalId: string): Fact<AnyEvent> => ({
  type: 'GrantGiven',
  data: {
    grant_id: grantId,
    principal_id: principalId,
    principal_kind: principalId.startsWith('agt') ? 'agent' : 'user',
    scopes: ['messages:read', 'messages:move'],
    ...terms,
  },
});

export const mailboxAdded = (number = 1): Fact<AnyEvent> => ({
  type: 'MailboxAdded',
  data: {
    number,
    email: sealSample('box@example.com'),
    display_name: null,
    provider: 'imap',
    auth_type: 'password',
    imap: host,
    smtp: null,
  },
});

/** The two appends of an operation that moved `done` messages and has `unknown` others. */
export async function operated(
  events: EventStore,
  operationId: string,
  { done, unknown }: { readonly done: number; readonly unknown: number },
): Promise<void> {
  await intended(events, operationId);
  const results = Array.from({ length: done + unknown }, (_unused, index) => ({
    message_id: `msg_${String(index)}`,
    step: 0,
    action: 'archive' as const,
    outcome: index < done ? ('done' as const) : ('unknown' as const),
  }));
  await happened(events, `operation-${operationId}`, [
    { type: 'ActionOutcomesRecorded', data: { results } },
    { type: 'OperationCompleted', data: { summary: { done, unknown, failed: 0 } } },
  ]);
}

/** The first append of an operation, with nothing after it. */
export async function intended(events: EventStore, operationId: string): Promise<void> {
  await happened(events, `operation-${operationId}`, [
    {
      type: 'OperationSubmitted',
      data: {
        mailbox_id: MAILBOX,
        capability: 'archive',
        fingerprint: 'f',
        mode: 'execute',
        reason: sealSample('tidy up'),
        run_id: 'run',
        targets: [{ message_id: 'msg_0', stale: false }],
        rfc_message_ids: null,
      },
    },
    { type: 'OperationDecided', data: { decision: 'allow', rule_id: 'default', policy_version: 1 } },
    { type: 'ActionsIntended', data: { steps: [{ action: 'archive', folder: 2 }] } },
  ]);
}

/** Writes all of it. */
export async function sampleHistory(events: EventStore): Promise<void> {
  await happened(events, `organisation-${ORG}`, [
    { type: 'OrganisationCreated', data: { name: 'Example' } },
    { type: 'MemberAdded', data: { user_id: OWNER, role: 'owner' } },
  ]);
  const account = { email: sealSample('owner@example.com'), name: sealSample('Olga') };
  await happened(
    events,
    `account-${OWNER}`,
    [{ type: 'AccountRegistered', data: account }],
    sampleAuthor(null),
  );
  await happened(events, `agent-${AGENT}`, [
    { type: 'AgentCreated', data: { owner_id: OWNER, name: 'Bot' } },
  ]);
  await happened(events, `token-${TOKEN}`, [tokenIssued]);
  await happened(events, 'mailboxNumber-1', [
    { type: 'MailboxNumberReserved', data: { mailbox_id: MAILBOX } },
  ]);
  await happened(events, `mailbox-${MAILBOX}`, [
    mailboxAdded(),
    grantGiven(GRANT, OWNER),
    { type: 'MailboxCredentialsStored', data: {} },
    { type: 'MailboxConnectionStarted', data: {} },
    { type: 'FolderAdded', data: { number: 1, path: sealSample('INBOX'), path_key: 'k1' } },
    { type: 'FolderAdded', data: { number: 2, path: sealSample('Archive'), path_key: 'k2' } },
    { type: 'FolderRolesDetected', data: { roles: { inbox: 1, archive: 2 } } },
    { type: 'MailboxConnected', data: { capabilities: ['MOVE'] } },
    grantGiven(AGENT_GRANT, AGENT),
  ]);
  await operated(events, 'opn_1', { done: 2, unknown: 0 });
  await operated(events, 'opn_2', { done: 0, unknown: 1 });
  await happened(events, 'access-run-2026010100', [
    {
      type: 'RequestRefused',
      data: { capability: 'archive', code: 'insufficient_scope', mailbox_id: MAILBOX },
    },
    { type: 'BodiesRead', data: { mailbox_id: MAILBOX, message_ids: ['msg_0'], what: 'text' } },
  ]);
}

/** People who come, change and go, in two parts: what the second ends was in the directory before. */
export async function peopleHistory(events: EventStore, part: 'first' | 'second'): Promise<void> {
  const ofOrg = `organisation-${ORG}`;
  const [max, mia] = ['usr_max', 'usr_mia'];
  if (part === 'first') {
    for (const user_id of [max, mia]) {
      const account = { email: sealSample(`${user_id}@example.com`), name: sealSample(user_id) };
      await happened(
        events,
        `account-${user_id}`,
        [{ type: 'AccountRegistered', data: account }],
        sampleAuthor(null),
      );
    }
    await happened(events, ofOrg, [
      { type: 'MemberAdded', data: { user_id: max, role: 'admin' } },
      { type: 'MemberAdded', data: { user_id: mia, role: 'member', invite_id: 'inv_1' } },
      { type: 'MemberRoleChanged', data: { user_id: mia, role: 'approver' } },
    ]);
    await happened(events, 'agent-agt_max', [{ type: 'AgentCreated', data: { owner_id: max, name: 'A' } }]);
    await happened(events, 'agent-agt_mia', [{ type: 'AgentCreated', data: { owner_id: mia, name: 'B' } }]);
    return;
  }
  await happened(events, `token-${TOKEN}`, [
    { type: 'TokenChanged', data: { name: 'Other', expires_at: '2026-01-05T00:00:00.000Z' } },
    { type: 'TokenRevoked', data: {} },
  ]);
  await happened(events, 'agent-agt_max', [{ type: 'AgentChanged', data: { owner_id: mia, name: 'C' } }]);
  await happened(events, 'agent-agt_mia', [{ type: 'AgentDeleted', data: {} }]);
  await happened(events, ofOrg, [
    { type: 'MemberRemoved', data: { user_id: max, reason: 'removed' } },
    { type: 'MemberAdded', data: { user_id: max, role: 'member' } },
    { type: 'MemberRemoved', data: { user_id: mia, reason: 'left' } },
    { type: 'OrganisationRenamed', data: { name: 'Renamed' } },
    { type: 'OrganisationDeleted', data: { erase_at: '2026-02-01T00:00:00.000Z' } },
    { type: 'OrganisationRestored', data: {} },
    { type: 'OrganisationDeleted', data: { erase_at: '2026-03-01T00:00:00.000Z' } },
    { type: 'OrganisationErased', data: {} },
  ]);
}
