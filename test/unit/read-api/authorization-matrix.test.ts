/** Rules that hold over every capability, role and credential, computed by the real gate on a directory made by events. */
import { expect } from 'chai';
import {
  AGENT_ORG_SCOPES,
  isMailboxScope,
  type Role,
  ROLE_SCOPES,
  ROLES,
  type Scope,
  SESSION_ONLY_SCOPES,
} from '../../../commands/values/scopes.ts';
import { capabilities } from '../../../read-api/capabilities.ts';
import { type Call, everyCall } from '../../support/worlds/authorization-calls.ts';
import {
  type Answer,
  AuthorizationWorld,
  CREDENTIALS,
  type CredentialKind,
  type Holder,
} from '../../support/worlds/authorization-world.ts';
import { verifies } from '../../support/suite/verifies.ts';

type Answers = ReadonlyMap<string, Answer>;

const cell = (kind: CredentialKind, { name, place }: Call): string =>
  `${name} at ${String(place)} by ${kind}`;
const isToken = (kind: CredentialKind): boolean => kind === 'token' || kind === 'agent token';

/** What an address that is not verified must never do: send, ask for and run approvals, invite, call out. */
const WITHHELD =
  /^(send_draft|wants_to_.*|approval_commit|decide_approval|email_requests, commit|email_act, (send a draft|archive on request)|.*_invite\b.*|list_members|get_member|(create|update|delete|test)_webhook_endpoint|rotate_webhook_secret|replay_.*|create_mailbox|discover_mailbox|update_mailbox.*|delete_mailbox|put_mailbox_credentials|.*_provider_authorization|test_mailbox_connection)$/;

describe('the authorisation of every capability', () => {
  let world: AuthorizationWorld;
  let calls: readonly Call[] = [];
  const members = new Map<Role, Answers>();
  const unverified = new Map<Role, Answers>();

  async function answersOf(holder: Holder): Promise<Answers> {
    const answers = new Map<string, Answer>();
    for (const call of calls) {
      for (const kind of CREDENTIALS) {
        answers.set(cell(kind, call), await world.answerTo(holder, kind, [call.capability, call.input]));
      }
    }
    return answers;
  }
  const of = (role: Role, kind: CredentialKind, call: Call, table = members): Answer =>
    table.get(role)?.get(cell(kind, call)) ?? 'not asked';
  /** The cells, of all roles, that break a rule. */
  const broken = (breaks: (role: Role, kind: CredentialKind, call: Call) => boolean): readonly string[] =>
    ROLES.flatMap((role) =>
      calls.flatMap((call) =>
        CREDENTIALS.filter((kind) => breaks(role, kind, call)).map((kind) => `${role}: ${cell(kind, call)}`),
      ),
    );
  const anyOf = ({ capability: { access } }: Call): readonly Scope[] | null =>
    typeof access === 'string' ? null : access.any;

  before(async () => {
    world = await AuthorizationWorld.open();
    calls = everyCall(world);
    for (const role of ROLES) {
      members.set(role, await answersOf(await world.holder(role)));
      unverified.set(role, await answersOf(await world.holder(role, false)));
    }
  });

  it(`includes every capability, each of which some caller may use ${verifies('contract:3:matrix')}`, () => {
    const usable = calls.filter((call) =>
      ROLES.some((role) => CREDENTIALS.some((kind) => of(role, kind, call) === 'allowed')),
    );
    expect([...new Set(usable.map(({ capability }) => capability.name))].toSorted()).to.deep.equal(
      capabilities.map(({ name }) => name).toSorted(),
    );
    const codes = new Set(
      [...members.values(), ...unverified.values()].flatMap((table) => [...table.values()]),
    );
    expect([...codes].toSorted()).to.deep.equal([
      'allowed',
      'email_unverified',
      'insufficient_scope',
      'not_found',
      'step_up_required',
    ]);
  });

  it(`never reaches another organisation, which answers like one that does not exist ${verifies('contract:3:matrix')}`, () => {
    const foreign = calls.filter(({ place }) => place === 'foreign');
    expect(foreign.length).to.be.greaterThan(30);
    const unknownOf = (call: Call): Call => ({ ...call, place: 'unknown' });
    for (const table of [members, unverified]) {
      const wrong = broken(
        (role, kind, call) =>
          call.place === 'foreign' &&
          (of(role, kind, call, table) === 'allowed' ||
            of(role, kind, call, table) !== of(role, kind, unknownOf(call), table)),
      );
      expect(wrong).to.deep.equal([]);
    }
  });

  it(`refuses every credential of a person who is not a member ${verifies('contract:3:matrix')}`, async () => {
    const stranger = await answersOf(await world.holder(null));
    expect([...new Set(stranger.values())]).to.deep.equal(['token_revoked']);
    for (const role of ROLES) {
      const holder = await world.holder(role);
      await world.remove(holder);
      expect([...new Set((await answersOf(holder)).values())], role).to.deep.equal(['token_revoked']);
    }
  });

  /** A token keeps only what its person was allowed ever since it was issued. */
  const afterChange = (before: Role, after: Role): Answers =>
    new Map(
      calls.flatMap((call) =>
        CREDENTIALS.map((kind) => {
          const lacksScope = anyOf(call)?.every(
            (scope) => !isMailboxScope(scope) && !ROLE_SCOPES[before].includes(scope),
          );
          const isLost =
            kind === 'token' &&
            (of(before, kind, call) === 'insufficient_scope' ||
              (lacksScope === true && of(after, kind, call) === 'allowed'));
          return [cell(kind, call), isLost ? 'insufficient_scope' : of(after, kind, call)];
        }),
      ),
    );

  it(`answers after a role change as if the role had never been another, but gives a token no more ${verifies('contract:3:matrix')}`, async () => {
    for (const before of ROLES) {
      for (const after of ROLES) {
        if (before === after) continue;
        const holder = await world.holder(before);
        await world.setRole(holder, after);
        const [found, expected] = [await answersOf(holder), afterChange(before, after)];
        const differing = [...expected].filter(([key, answer]) => found.get(key) !== answer);
        expect(
          differing.map(([key, answer]) => `${key}: ${found.get(key) ?? 'none'}, not ${answer}`),
          `${before} to ${after}`,
        ).to.deep.equal([]);
      }
    }
  });

  it(`gives a role everything that a role within it has ${verifies('contract:3:matrix')}`, () => {
    const within = (inner: Role, outer: Role): boolean =>
      ROLE_SCOPES[inner].every((scope) => ROLE_SCOPES[outer].includes(scope));
    for (const outer of ROLES) {
      const wrong = broken(
        (inner, kind, call) =>
          within(inner, outer) && of(inner, kind, call) === 'allowed' && of(outer, kind, call) !== 'allowed',
      );
      expect(wrong, outer).to.deep.equal([]);
    }
  });

  it(`gives no token what a session lacks, and no agent what its owner lacks ${verifies('contract:3:matrix')}`, () => {
    const wrong = broken(
      (role, kind, call) =>
        of(role, kind, call) === 'allowed' &&
        (of(role, 'stepped-up session', call) !== 'allowed' ||
          (kind === 'agent token' && of(role, 'token', call) !== 'allowed')),
    );
    expect(wrong).to.deep.equal([]);
  });

  it(`keeps from tokens what only a person who is signed in may do ${verifies('contract:3:matrix')}`, () => {
    const ofSessions = (call: Call): boolean => {
      const { access } = call.capability;
      if (typeof access === 'string') return access !== 'any-token';
      return access.inSession === true || access.any.every((scope) => SESSION_ONLY_SCOPES.includes(scope));
    };
    const wrong = broken(
      (role, kind, call) => isToken(kind) && ofSessions(call) && of(role, kind, call) === 'allowed',
    );
    expect(wrong).to.deep.equal([]);
    const decisions = [
      'decide_approval',
      'resolve_operation',
      'set_policy',
      'update_member',
      'create_invite',
    ];
    const named = calls.filter(({ capability }) => decisions.includes(capability.name));
    expect(new Set(named.map(({ capability }) => capability.name)).size).to.equal(decisions.length);
    expect(named.every(ofSessions)).to.equal(true);
  });

  it(`keeps agents within mailbox scopes and the two of the organisation ${verifies('contract:3:matrix')}`, () => {
    const mayHold = (scope: Scope): boolean =>
      isMailboxScope(scope) || AGENT_ORG_SCOPES.some((held) => held === scope);
    const wrong = broken(
      (role, kind, call) =>
        kind === 'agent token' &&
        of(role, kind, call) === 'allowed' &&
        !(anyOf(call)?.some(mayHold) ?? call.capability.access === 'any-token'),
    );
    expect(wrong).to.deep.equal([]);
  });

  it(`asks for the password only in a session without a fresh one, and only where it is the last thing missing ${verifies('contract:3:matrix')}`, () => {
    const wrong = broken((role, kind, call) => {
      const answer = of(role, kind, call);
      if (kind !== 'session') return answer === 'step_up_required';
      const fresh = of(role, 'stepped-up session', call);
      return answer === 'step_up_required' ? fresh !== 'allowed' : answer !== fresh;
    });
    expect(wrong).to.deep.equal([]);
    const guarded = ['create_token', 'update_member', 'put_mailbox_credentials', 'rotate_webhook_secret', 'create_mailbox', 'create_agent', 'set_folder_roles', 'create_webhook_endpoint', 'create_invite', 'resend_invite', 'create_session_token', 'delete_organisation', 'export_me', 'decide_approval', 'resolve_operation', 'set_policy']; // prettier-ignore
    const unguarded = guarded.filter(
      (name) =>
        !calls.some(({ capability }) => capability.name === name) ||
        calls.some((call) => call.capability.name === name && of('owner', 'session', call) === 'allowed'),
    );
    expect(unguarded).to.deep.equal([]);
  });

  it(`withholds from an unverified address what sends, invites or calls out, and says so only where that helps ${verifies('contract:3:matrix')}`, () => {
    const wrong = broken((role, kind, call) => {
      const [before, after] = [of(role, kind, call, unverified), of(role, kind, call)];
      if (before === 'email_unverified') return after !== 'allowed' && after !== 'step_up_required';
      return before !== after || (before === 'allowed' && WITHHELD.test(call.name));
    });
    expect(wrong).to.deep.equal([]);
  });
});
