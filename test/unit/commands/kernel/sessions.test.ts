import { expect } from 'chai';
import { type Caller, callerInSession } from '../../../../commands/kernel/access.ts';
import { authorize, mayCall, requireAny, wantsFreshPassword } from '../../../../commands/kernel/authorize.ts';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import type { OrganisationEntry, SessionEntry } from '../../../../commands/ports/directory.ts';
import {
  callerNow,
  isSteppedUp,
  requireFreshPassword,
  requireSession,
} from '../../../../commands/kernel/live-caller.ts';
import { type Role, ROLE_SCOPES, ROLES, SESSION_ONLY_SCOPES } from '../../../../commands/values/scopes.ts';
import { orgEntry } from '../../../support/worlds/people.ts';
import { stateOf, type World, WORLD_NOW } from '../../../support/worlds/access-world.ts';
import { sampleCaller } from '../../../support/worlds/mcp/sample-caller.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const grant = { scopes: ['messages:read', 'drafts:read'] as const, folderRoles: null, expiresAt: null };
const world = (role: Role | null): World => ({
  kind: 'user',
  role,
  tokenScopes: [],
  tokenMailboxIds: null,
  mailboxes: [
    { isRemoved: false, isForeign: false, grant, ownersGrant: null },
    { isRemoved: false, isForeign: false, grant: null, ownersGrant: null },
  ],
});
const at = (milliseconds: number): string => new Date(WORLD_NOW.getTime() + milliseconds).toISOString();

const entry = (changes: Partial<SessionEntry> = {}): SessionEntry => ({
  id: 'ses_1',
  orgId: 'org_1',
  userId: 'usr_1',
  secretHash: 'abc',
  startedAt: at(-1_000),
  position: '2',
  expiresAt: at(3_600_000),
  steppedUpUntil: at(60_000),
  endedAt: null,
  client: null,
  ...changes,
});
const signedIn = (role: Role, changes: Partial<SessionEntry> = {}): Caller => {
  const caller = callerInSession(stateOf(world(role)), entry(changes), WORLD_NOW);
  if (!caller) throw new Error('nobody is signed in');
  return caller;
};
const STALE = { steppedUpUntil: at(0) };
const capability = (access: Capability['access']): Pick<Capability, 'access'> => ({ access });
/** The code with which `check` refuses these. */
const codeOf = <Given extends readonly unknown[]>(
  check: (...given: Given) => unknown,
  ...given: Given
): string => thrown(() => check(...given)).code;

describe('callerInSession', () => {
  it(`returns a person with all scopes of the role and of the grants ${verifies('contract:2:session-person', 'contract:3:session-scopes')}`, () => {
    for (const role of ROLES) {
      const caller = signedIn(role);
      expect(caller).to.deep.include({
        actor: 'person',
        onBehalfOf: null,
        principal: { kind: 'user', id: 'usr_1', name: 'Olive' },
        session: { id: 'ses_1', steppedUpUntil: at(60_000) },
        role,
      });
      expect([...caller.orgScopes], role).to.have.members([...ROLE_SCOPES[role]]);
      expect([...caller.mailboxes].map(([id, { scopes }]) => [id, [...scopes]])).to.deep.equal([
        ['mbx_0', ['messages:read', 'drafts:read']],
      ]);
    }
  });

  it(`includes the scopes to decide and set policy only while stepped up ${verifies('contract:3:session-scopes')}`, () => {
    for (const role of ROLES) {
      const held = [...signedIn(role, STALE).orgScopes];
      const lasting = ROLE_SCOPES[role].filter((scope) => !SESSION_ONLY_SCOPES.includes(scope));
      expect(held, role).to.have.members(lasting);
    }
  });

  it('returns null for a person without a role', () => {
    expect(callerInSession(stateOf(world(null)), entry(), WORLD_NOW)).to.equal(null);
  });

  it(`leads to step_up_required when only the fresh password is missing ${verifies('contract:3:step-up-required')}`, () => {
    const deciding = capability({ any: ['approvals:decide'] });
    const refusal = (caller: Caller) => codeOf(requireAny, caller, deciding);
    requireAny(signedIn('approver'), deciding);
    expect(refusal(signedIn('approver', STALE))).to.equal('step_up_required');
    expect(refusal(signedIn('member', STALE))).to.equal('insufficient_scope');
    expect(refusal(sampleCaller())).to.equal('insufficient_scope');
    expect(isSteppedUp(signedIn('owner', STALE), WORLD_NOW)).to.equal(false);
    expect(codeOf(requireSession, sampleCaller())).to.equal('insufficient_scope');
    expect(isSteppedUp(signedIn('owner'), WORLD_NOW)).to.equal(true);
  });

  it(`needs no scope for the person's own resources ${verifies('contract:3:own-in-session')}`, () => {
    const own = capability({ any: ['tokens:manage'], freeInSession: true });
    const state = stateOf(world('member'));
    requireAny(signedIn('member', STALE), own);
    authorize(signedIn('member', STALE), state, own, {});
    expect(codeOf(requireAny, sampleCaller(), own)).to.equal('insufficient_scope');
  });

  it(`excludes tokens from a capability for sessions, whatever scopes they have ${verifies('contract:20:sessions-only')}`, () => {
    const inSession = capability({ any: ['messages:read'], inSession: true });
    requireAny(signedIn('member'), inSession);
    expect(mayCall(signedIn('member'), inSession)).to.equal(true);
    const holder = sampleCaller();
    expect(holder.scopes.has('messages:read')).to.equal(true);
    expect(mayCall(holder, inSession)).to.equal(false);
    expect(codeOf(requireAny, holder, inSession)).to.equal('insufficient_scope');
    const unheld = capability({ any: ['members:manage'], inSession: true });
    expect(codeOf(requireAny, signedIn('member'), unheld)).to.equal('insufficient_scope');
  });

  it(`returns only an owner, without mail, while the organisation is deleted ${verifies('contract:18:organisation-deletion')}`, () => {
    const inDeleted = (role: Role, position: string): Caller | null => {
      const state = stateOf(world(role));
      const deleted = orgEntry('org_1', { eraseAt: at(1_000), notBefore: '9' });
      (state.organisations as Map<string, OrganisationEntry>).set('org_1', deleted);
      return callerInSession(state, entry({ position }), WORLD_NOW);
    };
    const owner = inDeleted('owner', '10');
    expect(owner?.org.isDeleted).to.equal(true);
    expect([...(owner?.mailboxes ?? [])]).to.deep.equal([]);
    expect(inDeleted('owner', '8'), 'a session of before').to.equal(null);
    expect(inDeleted('admin', '10')).to.equal(null);
    expect(signedIn('owner').org.isDeleted).to.equal(false);
  });

  it(`requires a fresh password where the capability asks for it, but not from tokens ${verifies('contract:18:step-up-guards')}`, () => {
    const guarded = (steppedUp: true | (() => boolean)) => capability({ any: ['tokens:manage'], steppedUp });
    const wants = [true as const, () => true, () => false].map((steppedUp) =>
      wantsFreshPassword(guarded(steppedUp), {}),
    );
    expect(wants).to.deep.equal([true, true, false]);
    expect(wantsFreshPassword(capability({ any: ['tokens:manage'] }), {})).to.equal(false);
    const sessions = new Map([['ses_1', entry(STALE)]]);
    requireFreshPassword(signedIn('owner'), { sessions }, WORLD_NOW);
    requireFreshPassword(sampleCaller(), { sessions }, WORLD_NOW);
    const stale = signedIn('owner', STALE);
    expect(codeOf(requireFreshPassword, stale, { sessions }, WORLD_NOW)).to.equal('step_up_required');
  });

  it(`requires the session's fresh password of tokens made from it ${verifies('contract:18:step-up-guards')}`, () => {
    const made = { ...signedIn('owner'), session: null };
    const sessions = (changes: Partial<SessionEntry>) => ({
      sessions: new Map([['ses_1', entry(changes)]]),
    });
    requireFreshPassword(made, sessions({}), WORLD_NOW);
    expect(codeOf(requireFreshPassword, made, sessions(STALE), WORLD_NOW)).to.equal('step_up_required');
    expect(codeOf(requireFreshPassword, made, { sessions: new Map() }, WORLD_NOW)).to.equal(
      'step_up_required',
    );
  });

  it('allows what only sessions may call', () => {
    expect(mayCall(signedIn('auditor', STALE), capability('session'))).to.equal(true);
    expect(mayCall(sampleCaller(), capability('session'))).to.equal(false);
    expect(codeOf(requireAny, sampleCaller(), capability('session'))).to.equal('insufficient_scope');
  });

  it('is evaluated again during long calls', () => {
    const caller = signedIn('owner');
    const withSession = (changes: Partial<SessionEntry>) => ({
      ...stateOf(world('owner')),
      sessions: new Map([['ses_1', entry(changes)]]),
    });
    const codeNow = (before: Caller, changes: Partial<SessionEntry>) =>
      codeOf(callerNow, withSession(changes), before, WORLD_NOW);
    expect(callerNow(withSession(STALE), caller, WORLD_NOW).scopes.has('policy:manage')).to.equal(false);
    expect(codeNow(caller, { endedAt: at(0) })).to.equal('token_revoked');
    expect(codeNow(caller, { expiresAt: at(0) })).to.equal('token_expired');
    expect(codeOf(callerNow, stateOf(world('owner')), caller, WORLD_NOW)).to.equal('token_revoked');
    const delegated = { ...caller, session: null, actor: 'delegated' as const };
    expect(callerNow(withSession({}), delegated, WORLD_NOW).actor).to.equal('delegated');
    expect(codeNow(delegated, { endedAt: at(0) })).to.equal('token_revoked');
  });
});
