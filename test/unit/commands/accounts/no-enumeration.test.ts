import { expect } from 'chai';
import { emailKey, emailReservation } from '../../../../commands/accounts/account.ts';
import { forgotPassword } from '../../../../commands/accounts/forgot-password.ts';
import { signIn } from '../../../../commands/accounts/sign-in.ts';
import { resendVerification } from '../../../../commands/accounts/verify-email.ts';
import { loadAggregate } from '../../../../commands/kernel/decide-and-append.ts';
import { signUp } from '../../../../commands/organisation/sign-up.ts';
import { startMemoryGateway, type MemoryGateway, OWNER } from '../../../support/worlds/memory-gateway.ts';
import { type Cost, Strangers } from '../../../support/worlds/strangers.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const KNOWN = OWNER.ownerEmail;
const UNVERIFIED = 'claimed@example.com';
const UNKNOWN = 'nobody@example.com';
const PASSWORD = 'another long passphrase';
const WINDOW_MS = 5 * 60_000;

describe('requests of strangers', () => {
  let gateway: MemoryGateway;
  let strangers: Strangers;
  beforeEach(async () => {
    gateway = await startMemoryGateway();
    strangers = new Strangers(gateway);
    await join(UNVERIFIED);
  });

  const join = (email: string, password = PASSWORD) =>
    signUp.handle({ email, password, name: 'Sam', org_name: 'Sam Ltd' }, strangers.context());
  const costsOf = async (call: (email: string) => Promise<unknown>): Promise<Cost[]> => {
    const costs: Cost[] = [];
    for (const email of [KNOWN, UNVERIFIED, UNKNOWN]) {
      costs.push(await strangers.costOf(() => call(email)));
    }
    return costs;
  };
  const mails = () =>
    gateway.events.all.filter(({ type }) => type === 'SystemMailRequested').map(({ data }) => data);

  it(`signs up with every address at the same cost ${verifies('contract:18:no-enumeration', 'contract:17:sign-up')}`, async () => {
    const [known, ...others] = await costsOf((email) => join(email));
    expect(known).to.deep.equal({
      answer: {},
      events: [
        'AccountRegistered',
        'PasswordSet',
        'OrganisationCreated',
        'MemberAdded',
        'EmailClaimed',
        'SystemMailRequested',
      ],
      hashes: 1,
      reads: known?.reads,
    });
    for (const other of others) expect(other).to.deep.equal(known);
  });

  it(`requests links for every address at the same cost, and twice in five minutes for none ${verifies('contract:18:no-enumeration', 'contract:17:password-forgot', 'contract:17:verify-resend')}`, async () => {
    for (const route of [forgotPassword, resendVerification]) {
      const ask = (email: string) => route.handle({ email }, strangers.context());
      const [known, ...others] = await costsOf(ask);
      expect(known).to.deep.include({ answer: {}, events: ['SystemMailRequested'], hashes: 0 });
      for (const other of others) expect(other).to.deep.equal(known);
      gateway.clock.advance(WINDOW_MS - 1);
      const repeats = await costsOf((email) => ask(` ${email.toUpperCase()} `));
      for (const { events, answer } of repeats)
        expect({ events, answer }).to.deep.equal({ events: [], answer: {} });
      gateway.clock.advance(1);
      for (const { events } of await costsOf(ask)) expect(events).to.deep.equal(['SystemMailRequested']);
    }
    const named = mails().slice(1);
    expect(named).to.have.length(12);
    for (const { user_id, to } of named as { user_id: unknown; to: string }[]) {
      expect(user_id).to.equal(null);
      // Under the mail's own key, which no account has.
      expect(to).to.match(/^sealed:[0-9a-f]{8}-/);
    }
  });

  it('requests one link when many requests arrive at once', async () => {
    const ask = () => forgotPassword.handle({ email: KNOWN }, strangers.context());
    await Promise.all(Array.from({ length: 6 }, ask));
    expect(mails().filter(({ kind }) => kind === 'password_reset')).to.have.length(1);
  });

  it(`refuses a sign-in at the same cost, trying two passwords where everybody may sign up ${verifies('contract:18:no-enumeration')}`, async () => {
    const fail = (email: string) =>
      signIn.handle({ email, password: 'not the password' }, strangers.context());
    const [known, ...others] = await costsOf(fail);
    expect(known).to.deep.include({ hashes: 2, events: [] });
    for (const other of others) expect(other).to.deep.equal(known);
    strangers = new Strangers(gateway, 'invite');
    for (const { hashes, answer } of await costsOf(fail)) {
      expect({ hashes, answer }).to.deep.equal({ hashes: 1, answer: known?.answer });
    }
  });

  it(`signs in to the account that was made, also with an address of another one ${verifies('contract:18:claimed-address')}`, async () => {
    await join(KNOWN);
    await join(UNKNOWN);
    const costs = await costsOf((email) => signIn.handle({ email, password: PASSWORD }, strangers.context()));
    const told = costs.map(({ answer, events, hashes, reads }) => {
      const { session } = answer as { session: { org: { name: string }; role: string } };
      return { org: session.org.name, role: session.role, events, hashes, reads };
    });
    expect(told[0]).to.include({ org: 'Sam Ltd', role: 'owner', hashes: 2 });
    for (const other of told) expect(other).to.deep.equal(told[0]);
    const owners = await signIn.handle({ email: KNOWN, password: OWNER.password }, strangers.context());
    expect(owners.session.org.name).to.equal(OWNER.orgName);
    // The newest claim is the one that is tried.
    await join(UNKNOWN, 'a third long passphrase');
    const first = signIn.handle({ email: UNKNOWN, password: PASSWORD }, strangers.context());
    expect(await rejection(first)).to.include({ code: 'invalid_credentials' });
    const { state } = await loadAggregate(gateway.events, emailReservation, emailKey(gateway.ports, UNKNOWN));
    expect(state.ownerId).to.equal(null);
  });

  it(`answers the same when an address was named too often, and does nothing more ${verifies('contract:18:no-enumeration')}`, async () => {
    const refused: string[] = [];
    const attempts: typeof gateway.ports.attempts = {
      attempt: async ({ account }, check) => {
        if (refused.includes(account.split(' ').slice(0, -1).join(' '))) {
          const { GatewayError } = await import('../../../../commands/values/errors.ts');
          throw new GatewayError('rate_limited', 'later');
        }
        return await check();
      },
    };
    const context = strangers.context({ ports: { ...strangers.ports, attempts } });
    const input = { email: UNKNOWN, password: PASSWORD, name: 'Sam', org_name: 'Sam Ltd' };
    refused.push('sign-up of', 'mail password_reset to');
    const silent = [
      await strangers.costOf(() => signUp.handle(input, context)),
      await strangers.costOf(() => forgotPassword.handle({ email: UNKNOWN }, context)),
    ];
    for (const { answer, events } of silent)
      expect({ answer, events }).to.deep.equal({ answer: {}, events: [] });
    expect(silent[0]?.hashes).to.equal(1);
    refused.push('sign-up from', 'mail from');
    expect(await rejection(signUp.handle(input, context))).to.include({ code: 'rate_limited' });
    const asked = forgotPassword.handle({ email: UNKNOWN }, context);
    expect(await rejection(asked)).to.include({ code: 'rate_limited' });
  });
});
