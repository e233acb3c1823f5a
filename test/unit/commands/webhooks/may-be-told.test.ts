import { expect } from 'chai';
import type { DirectoryState, GrantEntry, MailboxEntry } from '../../../../commands/ports/directory.ts';
import type { Role } from '../../../../commands/values/scopes.ts';
import { mayBeTold, type Told, type Verdict } from '../../../../commands/webhooks/may-be-told.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { memberEntry, membershipsWith, orgEntry, personEntry } from '../../../support/worlds/people.ts';

const now = new Date('2026-01-01T00:00:00.000Z');

interface Given {
  readonly role?: Role | null;
  readonly grant?: Partial<GrantEntry> | null;
  readonly mailbox?: Partial<MailboxEntry>;
}

const state = ({ role = 'admin', grant = {}, mailbox = {} }: Given): DirectoryState =>
  ({
    organisations: new Map([['org_a', orgEntry('org_a')]]),
    people: new Map([['usr_1', personEntry('usr_1')]]),
    ...membershipsWith(...(role === null ? [] : [memberEntry('org_a', 'usr_1', role)])),
    mailboxes: new Map([
      [
        'mbx_1',
        {
          id: 'mbx_1',
          orgId: 'org_a',
          state: 'connected',
          folders: [
            { number: 1, path: 'INBOX' },
            { number: 2, path: 'Secret' },
          ],
          folderRoles: {},
          detectedRoles: { inbox: 1 },
          ...mailbox,
        },
      ],
    ]),
    grants: new Map([
      [
        'grt_1',
        {
          id: 'grt_1',
          mailboxId: 'mbx_1',
          principalId: 'usr_1',
          principalKind: 'user',
          position: '2',
          scopes: ['messages:read', 'drafts:read'],
          folderRoles: null,
          expiresAt: null,
          ...grant,
        },
      ],
    ]),
    grantIds: new Map([['mbx_1', new Map(grant === null ? [] : [['usr_1', 'grt_1']])]]),
  }) as unknown as DirectoryState;

const judge = (given: Given, told: Partial<Told> & { readonly eventType: string }): Verdict =>
  mayBeTold(
    state(given),
    { orgId: 'org_a', personId: 'usr_1' },
    { mailboxId: null, folders: null, ...told },
    now,
  );
const message = (given: Given, folders: readonly number[] | null = [1]): Verdict =>
  judge(given, { eventType: 'message.received', mailboxId: 'mbx_1', folders });
const draft = (given: Given): Verdict => judge(given, { eventType: 'draft.created', mailboxId: 'mbx_1' });

describe('what the person behind an endpoint may be told', () => {
  it(`is of messages only with messages:read on the mailbox now ${verifies('contract:11:withheld')}`, () => {
    expect(message({})).to.equal('told');
    expect(message({ grant: null })).to.equal('withheld');
    expect(message({ grant: { scopes: ['drafts:read'] } })).to.equal('withheld');
    expect(message({ grant: { expiresAt: '2025-12-31T00:00:00.000Z' } })).to.equal('withheld');
    expect(message({ grant: { expiresAt: '2026-12-31T00:00:00.000Z' } })).to.equal('told');
  });

  it('is of messages in the folders of the grant, every one of them, where they are known', () => {
    const inbox = { grant: { folderRoles: ['inbox' as const] } };
    expect(message(inbox, [1])).to.equal('told');
    for (const folders of [[2], [1, 2], [7], [], null]) expect(message(inbox, folders)).to.equal('withheld');
    expect(message({}, null)).to.equal('told');
  });

  it('is of drafts only with drafts:read, and not in a grant limited to folders', () => {
    expect(draft({})).to.equal('told');
    expect(draft({ grant: { scopes: ['messages:read'] } })).to.equal('withheld');
    expect(draft({ grant: { folderRoles: ['drafts'] } })).to.equal('withheld');
  });

  it('is of approvals, operations, mailboxes and the organisation by role, without a grant', () => {
    for (const eventType of ['approval.requested', 'operation.completed', 'mailbox.auth_failed'])
      expect(judge({ grant: null }, { eventType, mailboxId: 'mbx_1' }), eventType).to.equal('told');
    for (const eventType of ['token.issued', 'member.added', 'application.connected', 'policy.denied'])
      expect(judge({ grant: null }, { eventType }), eventType).to.equal('told');
  });

  it('is nothing of a mailbox that was removed, is unknown or of others', () => {
    for (const mailbox of [{ state: 'removed' as const }, { orgId: 'org_b' }])
      expect(message({ mailbox })).to.equal('withheld');
    expect(judge({}, { eventType: 'mailbox.connected', mailboxId: 'mbx_9' })).to.equal('withheld');
  });

  it('ends when the person left or no longer manages webhooks', () => {
    expect(message({ role: null })).to.equal('rights_gone');
    for (const role of ['approver', 'member', 'auditor'] as const)
      expect(message({ role })).to.equal('rights_gone');
    expect(message({ role: 'owner' })).to.equal('told');
  });
});
