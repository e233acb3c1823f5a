import { expect } from 'chai';
import fc from 'fast-check';
import { type Caller, callerOf, managesEveryMailbox } from '../../../../commands/kernel/access.ts';
import { FOLDER_ROLES } from '../../../../commands/values/folder-roles.ts';
import {
  isMailboxScope,
  MAILBOX_SCOPES,
  ORG_SCOPES,
  type Role,
  ROLES,
  SCOPES,
  type Scope,
} from '../../../../commands/values/scopes.ts';
import {
  type GrantTraits,
  type MailboxTraits,
  stateOf,
  tokenOf,
  type World,
  WORLD_NOW,
  worldArbitrary,
} from '../../../support/worlds/access-world.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const caller = (world: World): Caller | null => callerOf(stateOf(world), tokenOf(world), WORLD_NOW);

/** Written from the contract, not from the code. */
const ROLE_ROWS: Record<Role, readonly string[]> = {
  owner: ORG_SCOPES,
  admin: ORG_SCOPES.filter((scope) => scope !== 'org:manage'),
  approver: ['org:read', 'mailboxes:read', 'approvals:read', 'approvals:decide'],
  member: ['org:read', 'mailboxes:read', 'approvals:read'],
  auditor: ['org:read', 'mailboxes:read', 'approvals:read', 'deliveries:read', 'audit:read', 'audit:export'],
};

const isLive = (grant: GrantTraits | null): grant is GrantTraits =>
  grant !== null && (grant.expiresAt === null || grant.expiresAt > WORLD_NOW.toISOString());

/** The grants that bound a principal on a mailbox, or null when a required one is missing. */
function bounds({ kind }: World, { grant, ownersGrant }: MailboxTraits): readonly GrantTraits[] | null {
  const needed = kind === 'agent' ? [grant, ownersGrant] : [grant];
  return needed.every(isLive) ? needed : null;
}

const allowedOn = (world: World, number: number, scope: Scope): boolean => {
  const mailbox = world.mailboxes[number];
  const isNamed = world.tokenMailboxIds === null || world.tokenMailboxIds.includes(`mbx_${String(number)}`);
  if (!mailbox || mailbox.isRemoved || mailbox.isForeign || !isNamed) return false;
  const isGranted = bounds(world, mailbox)?.every(({ scopes }) =>
    (scopes as readonly Scope[]).includes(scope),
  );
  return (isGranted ?? false) && world.tokenScopes.includes(scope);
};

const WIDE: World = {
  kind: 'agent',
  role: 'owner',
  tokenScopes: SCOPES,
  tokenMailboxIds: null,
  mailboxes: [0, 1].map(() => ({
    isRemoved: false,
    isForeign: false,
    grant: { scopes: MAILBOX_SCOPES, folderRoles: null, expiresAt: null },
    ownersGrant: { scopes: MAILBOX_SCOPES, folderRoles: null, expiresAt: null },
  })),
};

const withGrants = (
  world: World,
  change: (grant: GrantTraits) => GrantTraits | null,
  whose: 'grant' | 'ownersGrant',
): World => ({
  ...world,
  mailboxes: world.mailboxes.map((mailbox) => {
    const grant = mailbox[whose];
    return { ...mailbox, [whose]: grant && change(grant) };
  }),
});

/** Every way to take something away. */
const lossArbitrary: fc.Arbitrary<(world: World) => World> = fc.oneof(
  fc.constantFrom(...SCOPES).map((lost) => (world: World): World => ({
    ...world,
    tokenScopes: world.tokenScopes.filter((scope) => scope !== lost),
  })),
  fc.tuple(fc.constantFrom(...MAILBOX_SCOPES), fc.constantFrom('grant', 'ownersGrant')).map(
    ([lost, whose]) =>
      (world: World) =>
        withGrants(
          world,
          (grant) => ({ ...grant, scopes: grant.scopes.filter((scope) => scope !== lost) }),
          whose,
        ),
  ),
  fc.tuple(fc.constantFrom(...FOLDER_ROLES), fc.constantFrom('grant', 'ownersGrant')).map(
    ([lost, whose]) =>
      (world: World) =>
        withGrants(
          world,
          (grant) => ({
            ...grant,
            folderRoles: (grant.folderRoles ?? FOLDER_ROLES).filter((role) => role !== lost),
          }),
          whose,
        ),
  ),
  fc
    .constantFrom('grant', 'ownersGrant')
    .map((whose) => (world: World) => withGrants(world, () => null, whose)),
  fc.constantFrom(null, 'member').map((role) => (world: World): World => ({
    ...world,
    role: world.role === null ? null : role,
  })),
  fc.constant((world: World): World => ({
    ...world,
    tokenMailboxIds: (world.tokenMailboxIds ?? ['mbx_0']).slice(0, 1),
  })),
  fc.constant((world: World): World => ({
    ...world,
    mailboxes: world.mailboxes.map((mailbox) => ({ ...mailbox, isRemoved: true })),
  })),
);

describe('callerOf', () => {
  it(`grants on a mailbox the intersection of token, grant and the owner's grant ${verifies('contract:3:effective', 'contract:3:agent-cap', 'contract:3:grant-expiry', 'contract:3:effective-grants')}`, () => {
    fc.assert(
      fc.property(worldArbitrary, (world) => {
        const who = caller(world);
        fc.pre(who !== null);
        for (const number of world.mailboxes.keys()) {
          const held = who.mailboxes.get(`mbx_${String(number)}`)?.scopes ?? new Set<Scope>();
          expect([...held]).to.have.members(
            SCOPES.filter((scope) => isMailboxScope(scope) && allowedOn(world, number, scope)),
          );
        }
      }),
    );
  });

  it(`grants on the organisation the intersection of token and role, and at most two of the owner's read scopes to an agent ${verifies('contract:3:roles', 'contract:3:session-only-scopes')}`, () => {
    fc.assert(
      fc.property(worldArbitrary, (world) => {
        const who = caller(world);
        fc.pre(who !== null && world.role !== null);
        const row = ROLE_ROWS[world.role];
        const cap =
          world.kind === 'agent'
            ? row.filter((scope) => ['approvals:read', 'mailboxes:read'].includes(scope))
            : row;
        const expected = cap.filter(
          (scope) =>
            (world.tokenScopes as readonly string[]).includes(scope) &&
            !['approvals:decide', 'policy:manage', 'audit:disclose'].includes(scope),
        );
        expect([...who.orgScopes]).to.have.members(expected);
      }),
    );
  });

  it('returns null when the person is no longer a member, and for their agents', () => {
    fc.assert(
      fc.property(worldArbitrary, (world) => {
        expect(caller(world) === null).to.equal(world.role === null);
      }),
    );
  });

  it('returns null when the agent is unknown or of another organisation', () => {
    const state = stateOf(WIDE);
    const agent = state.agents.get('agt_1');
    expect(agent).not.to.equal(undefined);
    const agents = new Map(agent ? [['agt_1', { ...agent, orgId: 'org_2' }]] : []);
    expect(callerOf({ ...state, agents }, tokenOf(WIDE), WORLD_NOW)).to.equal(null);
    expect(callerOf({ ...state, agents: new Map() }, tokenOf(WIDE), WORLD_NOW)).to.equal(null);
  });

  it('grants the folder roles that every grant involved allows', () => {
    fc.assert(
      fc.property(worldArbitrary, (world) => {
        const who = caller(world);
        fc.pre(who !== null);
        for (const [number, mailbox] of world.mailboxes.entries()) {
          const access = who.mailboxes.get(`mbx_${String(number)}`);
          const limits = (bounds(world, mailbox) ?? []).flatMap(({ folderRoles }) =>
            folderRoles ? [folderRoles] : [],
          );
          const allowed = FOLDER_ROLES.filter((role) => limits.every((roles) => roles.includes(role)));
          if (access)
            expect(access.folderRoles ?? [...FOLDER_ROLES]).to.have.members(
              limits.length === 0 ? [...FOLDER_ROLES] : allowed,
            );
          if (access && limits.length > 0) expect(access.folderRoles).not.to.equal(null);
        }
      }),
    );
  });

  it('never grants more when something is taken away', () => {
    fc.assert(
      fc.property(worldArbitrary, lossArbitrary, (world, lose) => {
        const before = caller(world);
        const after = caller(lose(world));
        fc.pre(before !== null);
        if (after === null) return;
        for (const scope of after.scopes) expect(before.scopes.has(scope), scope).to.equal(true);
        for (const scope of after.orgScopes) expect(before.orgScopes.has(scope), scope).to.equal(true);
        for (const [id, { scopes, folderRoles }] of after.mailboxes) {
          const had = before.mailboxes.get(id);
          expect(had, id).not.to.equal(undefined);
          for (const scope of scopes) expect(had?.scopes.has(scope), scope).to.equal(true);
          if (had?.folderRoles != null)
            expect(had.folderRoles).to.include.members([...(folderRoles ?? FOLDER_ROLES)]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it(`lists as scopes exactly those held on the organisation or some mailbox ${verifies('contract:3:scopes-closed')}`, () => {
    fc.assert(
      fc.property(worldArbitrary, (world) => {
        const who = caller(world);
        fc.pre(who !== null);
        const somewhere = [...who.mailboxes.values()].flatMap(({ scopes }) => [...scopes]);
        expect([...who.scopes]).to.have.members([...new Set([...who.orgScopes, ...somewhere])]);
      }),
    );
  });

  it(`derives the kind of actor from the credential ${verifies('contract:2:actor-kind')}`, () => {
    expect(caller(WIDE)).to.deep.include({ actor: 'agent', onBehalfOf: 'usr_1', role: null });
    expect(caller({ ...WIDE, kind: 'user' })).to.deep.include({
      actor: 'delegated',
      onBehalfOf: 'usr_1',
      role: 'owner',
    });
  });

  it('lets an owner or admin manage every mailbox unless the token is bound to some', () => {
    const manages = (change: Partial<World>): boolean => {
      const who = caller({ ...WIDE, kind: 'user', ...change });
      return who !== null && managesEveryMailbox(who);
    };
    expect(ROLES.filter((role) => manages({ role }))).to.deep.equal(['owner', 'admin']);
    expect(manages({ tokenMailboxIds: ['mbx_0', 'mbx_1'] })).to.equal(false);
    expect(manages({ kind: 'agent' })).to.equal(false);
  });
});
