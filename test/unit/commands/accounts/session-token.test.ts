import { expect } from 'chai';
import { createSessionToken } from '../../../../commands/accounts/session-token.ts';
import { stepUpSession } from '../../../../commands/accounts/sign-in.ts';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import { invokeCapability } from '../../../../commands/kernel/invoke-capability.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { createMailbox, updateMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { putFolderRoles } from '../../../../commands/mailboxes/set-folder-roles.ts';
import { putCredentials } from '../../../../commands/mailboxes/store-credentials.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { Authenticator } from '../../../../read-api/http/authenticate.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { type MemoryGateway, OWNER, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const QUARTER_MS = 15 * 60_000;
const auth = { type: 'password', username: 'box', password: 'a secret of the box' };
const AUDIENCE = 'http://127.0.0.1/api/v1';

describe('a token made from a session', () => {
  let gateway: MemoryGateway;
  let sessionId: string;
  let mailboxId: string;
  beforeEach(async () => {
    gateway = await startMemoryGateway();
    const wanted = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    mailboxId = (await gateway.call<{ id: string }>(createMailbox, wanted)).id;
    sessionId = await gateway.signIn();
  });

  const make = async (scopes?: readonly string[]): Promise<string> => {
    const input = { audience: AUDIENCE, ...(scopes && { scopes }) };
    return (await gateway.call<{ token: string }>(createSessionToken, input, { token: sessionId })).token;
  };

  /** A token made while the password was fresh, which it no longer is. */
  const madeShortlyBefore = async (): Promise<string> => {
    gateway.clock.advance(QUARTER_MS - 60_000);
    const bearer = await make();
    gateway.clock.advance(60_000);
    expect(await rejection(make())).to.include({ code: 'step_up_required' });
    return bearer;
  };

  /** A call with the token, as over REST. */
  const callWith = async (bearer: string, capability: Capability, input: unknown): Promise<unknown> => {
    const { ports } = gateway;
    const caller = await new Authenticator(ports).callerOf({
      authorization: `Bearer ${bearer}`,
      surface: 'rest',
      recordedAs: () => 'rest',
      requestId: 'req_1',
      source: () => 'somewhere',
      seal: async () => 'sealed' as Sealed,
    });
    const request = {
      id: ports.ids.newId('req'),
      surface: 'rest',
      idempotencyKey: null,
      ifMatch: null,
      ifPosition: null,
      mcpSessionId: null,
    } as const;
    return (await invokeCapability({ capability, input, caller, client: null, registry: [], ports, request }))
      .output;
  };
  const replaced = () => gateway.secrets.mail.get(mailboxId);

  const changes = {
    put_mailbox_credentials: (bearer: string, password: string) =>
      callWith(bearer, putCredentials, { mailbox_id: mailboxId, password }),
    update_mailbox: (bearer: string, password: string) =>
      callWith(bearer, updateMailbox, { mailbox_id: mailboxId, auth: { ...auth, password } }),
  };
  for (const [name, change] of Object.entries(changes)) {
    it(`changes credentials by ${name} only while the session's password is fresh ${verifies('contract:18:step-up-guards')}`, async () => {
      await change(await make(), 'changed while fresh');
      expect(replaced()).to.include({ password: 'changed while fresh' });
      const bearer = await madeShortlyBefore();
      expect(await rejection(change(bearer, 'stolen'))).to.include({ code: 'step_up_required' });
      expect(replaced()).to.include({ password: 'changed while fresh' });
      await gateway.call(stepUpSession, { password: OWNER.password }, { token: sessionId });
      await change(bearer, 'changed again');
      expect(replaced()).to.include({ password: 'changed again' });
    });
  }

  it(`changes other settings without a fresh password ${verifies('contract:18:step-up-guards')}`, async () => {
    const input = { mailbox_id: mailboxId, display_name: 'Renamed' };
    const bearer = await madeShortlyBefore();
    expect(await callWith(bearer, updateMailbox, input)).to.include({ display_name: 'Renamed' });
  });

  it(`creates no tokens, because they would outlive the session ${verifies('contract:2:session-token')}`, async () => {
    const wanted = {
      name: 'Lasting',
      surface: 'rest',
      scopes: ['org:read'],
      expires_at: '2026-03-01T12:05:00Z',
    };
    const refused = await rejection(callWith(await make(), createToken, wanted));
    expect(refused).to.include({ code: 'insufficient_scope' });
    expect(await rejection(make(['tokens:manage']))).to.include({ code: 'insufficient_scope' });
  });
});

describe('step-up of a session', () => {
  it(`is required to add mailboxes and agents, map roles, trust headers and make tokens ${verifies('contract:18:step-up-guards')}`, async () => {
    const gateway = await startMemoryGateway();
    const box = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const token = await gateway.signIn();
    const { id } = await gateway.call<{ id: string }>(createMailbox, box, { token });
    const guarded: readonly (readonly [Capability, object])[] = [
      [createMailbox, { ...box, email: 'other@example.com' }],
      [createAgent, { name: 'Robot' }],
      [putFolderRoles, { mailbox_id: id, roles: { archive: null } }],
      [updateMailbox, { mailbox_id: id, trusted_authserv_ids: ['mx.example.com'] }],
      [createSessionToken, { audience: AUDIENCE }],
    ];
    gateway.clock.advance(QUARTER_MS);
    for (const [capability, input] of guarded) {
      const refused = await rejection(gateway.call(capability, input, { token }));
      expect(refused, capability.name).to.include({ code: 'step_up_required' });
    }
    await gateway.call(stepUpSession, { password: OWNER.password }, { token });
    for (const [capability, input] of guarded) await gateway.call(capability, input, { token });
  });

  it(`is required to replace credentials together with the settings ${verifies('contract:18:step-up-guards')}`, async () => {
    const gateway = await startMemoryGateway();
    const wanted = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const { id } = await gateway.call<{ id: string }>(createMailbox, wanted);
    const token = await gateway.signIn();
    gateway.clock.advance(QUARTER_MS);
    const imap = { ...IMAP, host: 'imap.elsewhere.example' };
    const input = { mailbox_id: id, imap, auth: { ...auth, password: 'stolen' } };
    const refused = await rejection(gateway.call(updateMailbox, input, { token }));
    expect(refused).to.include({ code: 'step_up_required' });
    expect(gateway.secrets.mail.get(id)).to.include({ password: auth.password });
    await gateway.call(stepUpSession, { password: OWNER.password }, { token });
    await gateway.call(updateMailbox, input, { token });
    expect(gateway.secrets.mail.get(id)).to.include({ password: 'stolen' });
  });
});
