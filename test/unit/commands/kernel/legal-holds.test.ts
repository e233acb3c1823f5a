import { expect } from 'chai';
import {
  assertNotHeld,
  assertStillFree,
  heldContent,
  HoldPlaced,
  holdsAgainst,
  type Loss,
} from '../../../../commands/kernel/legal-holds.ts';
import type { HoldTarget } from '../../../../commands/ports/legal-holds.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { directoryHolding, holdOn } from '../../../support/fakes/directory-holding.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ACCOUNT: Loss = { kind: 'account', userId: 'usr_1', approvals: [] };
const APPROVER: Loss = {
  kind: 'account',
  userId: 'usr_3',
  approvals: [{ id: 'chk_1', mailboxId: 'mbx_1', draftId: 'drf_1' }],
};
const MESSAGES: Loss = { kind: 'messages', mailboxId: 'mbx_1' };
const draftBy = (startedBy: string): Loss => ({
  kind: 'draft',
  draftId: 'drf_1',
  mailboxId: 'mbx_1',
  startedBy,
});
const mailboxWith = (...startedBy: readonly string[]): Loss => ({
  kind: 'mailbox',
  mailboxId: 'mbx_1',
  startedBy,
});
const place = { mailboxId: 'mbx_1' };

describe('what a legal hold forbids', () => {
  const directory = directoryHolding({
    mailboxes: new Map([['mbx_1', { id: 'mbx_1', orgId: 'org_1' } as never]]),
    agentOwners: new Map([
      ['agt_1', { id: 'agt_1', orgId: 'org_1', ownerIds: ['usr_1'], lastOwnerIds: ['usr_1'] }],
    ]),
  });
  beforeEach(() => {
    directory.hold();
    directory.isCurrent = true;
  });
  const forbidden = (target: Pick<HoldTarget, 'type' | 'id'> & Partial<HoldTarget>): readonly string[] => {
    directory.hold(holdOn('hld_1', target));
    const losses = {
      account: ACCOUNT,
      'account of an approver': APPROVER,
      messages: MESSAGES,
      'own draft': draftBy('usr_1'),
      "agent's draft": draftBy('agt_1'),
      "another's draft": draftBy('usr_2'),
      'mailbox with own drafts': mailboxWith('usr_2', 'agt_1'),
      'mailbox without': mailboxWith('usr_2'),
    };
    return Object.entries(losses).flatMap(([name, loss]) =>
      holdsAgainst(directory.state, loss).length > 0 ? [name] : [],
    );
  };

  it(`follows from its targets ${verifies('contract:12:hold-blocks')}`, () => {
    const approver = 'account of an approver';
    const drafts = ['own draft', "agent's draft", "another's draft"];
    const mailboxes = ['mailbox with own drafts', 'mailbox without'];
    expect(forbidden({ type: 'person', id: 'usr_1' })).to.have.members([
      'account',
      'own draft',
      "agent's draft",
      'mailbox with own drafts',
    ]);
    expect(forbidden({ type: 'mailbox', id: 'mbx_1' })).to.have.members([
      'messages',
      approver,
      ...drafts,
      ...mailboxes,
    ]);
    expect(forbidden({ type: 'draft', id: 'drf_1', ...place })).to.have.members([
      approver,
      ...drafts,
      ...mailboxes,
    ]);
    expect(forbidden({ type: 'approval', id: 'chk_1', ...place, draftId: 'drf_1' })).to.have.members([
      approver,
      ...drafts,
      ...mailboxes,
    ]);
    expect(forbidden({ type: 'approval', id: 'chk_1', ...place })).to.have.members([approver, ...mailboxes]);
    expect(forbidden({ type: 'approval', id: 'chk_2', ...place })).to.have.members(mailboxes);
    expect(forbidden({ type: 'mailbox', id: 'mbx_2' })).to.deep.equal([]);
  });

  it('ends with its release, and concerns the drafts of its own organisation only', () => {
    const held = holdOn('hld_1', { type: 'person', id: 'usr_1' });
    directory.hold({ ...held, state: 'released' });
    expect(holdsAgainst(directory.state, ACCOUNT)).to.deep.equal([]);
    directory.hold({ ...held, state: 'release_requested' });
    expect(holdsAgainst(directory.state, ACCOUNT)).to.have.length(1);
    directory.hold({ ...held, orgId: 'org_2' });
    expect(holdsAgainst(directory.state, draftBy('usr_1'))).to.deep.equal([]);
    expect(holdsAgainst(directory.state, ACCOUNT)).to.have.length(1);
    expect(heldContent(directory.state)?.startedBy).to.deep.equal(['org_2/usr_1']);
  });

  it('is not known while this process may lack a hold', () => {
    directory.isCurrent = false;
    expect(() => {
      assertNotHeld(directory, MESSAGES);
    })
      .to.throw(GatewayError)
      .with.property('code', 'store_unavailable');
    expect(() => {
      assertStillFree(directory, MESSAGES);
    })
      .to.throw(HoldPlaced)
      .with.nested.property('refusal.code', 'store_unavailable');
  });
});
