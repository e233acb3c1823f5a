import { expect } from 'chai';
import type { Caller } from '../../../../commands/kernel/access.ts';
import { callerOf } from '../../../../commands/kernel/access.ts';
import {
  authorize,
  lacks,
  mayCall,
  neededScopes,
  requireAny,
} from '../../../../commands/kernel/authorize.ts';
import type { Access, Capability } from '../../../../commands/kernel/capability.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { type Scope, SCOPES } from '../../../../commands/values/scopes.ts';
import { capabilities } from '../../../../read-api/capabilities.ts';
import { stateOf, tokenOf, type World, WORLD_NOW } from '../../../support/worlds/access-world.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const grant = { scopes: ['messages:read', 'messages:move'], folderRoles: null, expiresAt: null } as const;
/** Mailbox 0 has a grant, 1 has none, 2 is another organisation's. */
const WORLD: World = {
  kind: 'user',
  role: 'member',
  tokenScopes: SCOPES,
  tokenMailboxIds: null,
  mailboxes: [
    { isRemoved: false, isForeign: false, grant, ownersGrant: null },
    { isRemoved: false, isForeign: false, grant: null, ownersGrant: null },
    { isRemoved: false, isForeign: true, grant: null, ownersGrant: null },
  ],
};

function who(change: Partial<World> = {}): { caller: Caller; state: ReturnType<typeof stateOf> } {
  const world = { ...WORLD, ...change };
  const state = stateOf(world);
  const caller = callerOf(state, tokenOf(world), WORLD_NOW);
  if (!caller) throw new Error('no caller');
  return { caller, state };
}

const capability = (access: Access<{ mailbox_id: string }> | 'any-token'): Capability =>
  ({ access }) as unknown as Capability;
const onMailbox = (...any: Scope[]): Capability => capability({ any, mailbox: (input) => input.mailbox_id });

function refusal(work: () => void): { code: string; required: unknown } | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, required: error.details['required'] };
  }
}

const refusalOn = (mailbox_id: string, asked: Capability, change: Partial<World> = {}) => {
  const { caller, state } = who(change);
  return refusal(() => {
    authorize(caller, state, asked, { mailbox_id });
  });
};

describe('authorize', () => {
  it(`reports not_found when the mailbox has no grant, as for one that does not exist ${verifies('contract:3:foreign-404')}`, () => {
    const unknown = { code: 'not_found', required: undefined };
    for (const id of ['mbx_1', 'mbx_2', 'mbx_none', '__proto__']) {
      expect(refusalOn(id, onMailbox('messages:read')), id).to.deep.equal(unknown);
      expect(refusalOn(id, onMailbox('mailboxes:manage')), id).to.deep.equal(unknown);
    }
  });

  it(`names the scope that a grant lacks ${verifies('contract:3:verb-missing', 'contract:13:insufficient-scope', 'contract:3:insufficient-scope')}`, () => {
    expect(refusalOn('mbx_0', onMailbox('messages:move'))).to.equal(null);
    expect(refusalOn('mbx_0', onMailbox('messages:trash'))).to.deep.equal({
      code: 'insufficient_scope',
      required: ['messages:trash'],
    });
  });

  it(`requires every scope the input needs, and names all that are missing ${verifies('contract:3:all-needed-first')}`, () => {
    const asked = capability({
      any: ['messages:move', 'messages:trash'],
      mailbox: (input) => input.mailbox_id,
      needs: () => ['messages:move', 'messages:trash', 'messages:spam'],
    });
    expect(refusalOn('mbx_0', asked)).to.deep.equal({
      code: 'insufficient_scope',
      required: ['messages:trash', 'messages:spam'],
    });
  });

  it('lets owners and admins administer every mailbox, but read no mail', () => {
    for (const role of ['owner', 'admin'] as const) {
      expect(refusalOn('mbx_1', onMailbox('mailboxes:manage'), { role })).to.equal(null);
      expect(refusalOn('mbx_1', onMailbox('messages:read'), { role })).to.include({ code: 'not_found' });
      expect(refusalOn('mbx_1', onMailbox('messages:read', 'mailboxes:read'), { role })).to.include({
        code: 'not_found',
      });
      expect(refusalOn('mbx_2', onMailbox('mailboxes:manage'), { role })).to.include({ code: 'not_found' });
      const tokenMailboxIds = ['mbx_0'];
      expect(refusalOn('mbx_1', onMailbox('mailboxes:manage'), { role, tokenMailboxIds })).to.include({
        code: 'not_found',
      });
    }
  });

  it('requires a scope of the token before it reads the input', () => {
    const { caller } = who({ tokenScopes: ['messages:read'] });
    expect(
      refusal(() => {
        requireAny(caller, onMailbox('messages:move'));
      }),
    ).to.deep.equal({
      code: 'insufficient_scope',
      required: ['messages:move'],
    });
    expect(
      refusal(() => {
        requireAny(caller, onMailbox('messages:read'));
      }),
    ).to.equal(null);
    expect(
      refusal(() => {
        requireAny(caller, capability('any-token'));
      }),
    ).to.equal(null);
  });

  it(`names exactly the scopes that this input needs ${verifies('contract:13:lacking-scopes')}`, () => {
    const { caller } = who({ tokenScopes: ['mailboxes:read'] });
    const acting = capabilities.find(({ name }) => name === 'email_act');
    if (acting === undefined) throw new Error('no email_act');
    const select = { folder: 'inbox', filter: {} };
    const sent = {
      mailbox_id: 'mbx_0',
      operation: { type: 'message_actions', select, actions: [{ type: 'archive' }] },
    };
    const refusalOf = (input: object) =>
      refusal(() => {
        requireAny(caller, acting, () => neededScopes(acting, input));
      });
    expect(refusalOf(sent)).to.deep.equal({
      code: 'insufficient_scope',
      required: ['messages:archive', 'messages:read'],
    });
    const starting = capabilities.find(({ name }) => name === 'start_draft');
    if (starting === undefined) throw new Error('no start_draft');
    const reading = who({ tokenScopes: ['messages:body'] }).caller;
    const forward = { mailbox_id: 'mbx_0', forward_of: 'msg_1' };
    expect(
      refusal(() => {
        requireAny(reading, starting, () => neededScopes(starting, forward));
      }),
      'not the one it holds',
    ).to.deep.equal({
      code: 'insufficient_scope',
      required: ['drafts:write', 'attachments:read'],
    });
    expect(refusalOf({ unreadable: true })).to.include({ code: 'insufficient_scope' });
    const either: readonly Scope[] = ['drafts:write', 'messages:body'];
    expect(lacks(caller, either, 'all').details).to.deep.equal({ required: either, match: 'all' });
    expect(lacks(caller, either).details).to.deep.equal({ required: either, match: 'any' });
    expect(lacks(caller, ['drafts:write', 'messages:body'], 'all').message).to.contain(
      'the scopes drafts:write and messages:body',
    );
  });

  it('reports not_found for a mailbox without a grant when the token holds the scope', () => {
    const mailboxes = WORLD.mailboxes.map((mailbox) => ({ ...mailbox, grant: null }));
    const { caller } = who({ mailboxes });
    expect(
      refusal(() => {
        requireAny(caller, onMailbox('messages:read'));
      }),
    ).to.equal(null);
    expect(refusalOn('mbx_0', onMailbox('messages:read'), { mailboxes })).to.include({ code: 'not_found' });
  });

  it('allows a capability whose scope is held anywhere', () => {
    const { caller } = who();
    expect(mayCall(caller, onMailbox('messages:trash', 'messages:move'))).to.equal(true);
    expect(mayCall(caller, onMailbox('messages:trash'))).to.equal(false);
    expect(mayCall(caller, capability('any-token'))).to.equal(true);
  });
});
