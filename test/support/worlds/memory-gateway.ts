/** A gateway without databases and network: real commands over an event store, a directory and secrets in memory. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { session, startSession } from '../../../commands/accounts/session.ts';
import { type Caller, callerInSession, callerOf } from '../../../commands/kernel/access.ts';
import { decideAndAppend, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import type { Outcome } from '../../../commands/kernel/invoke-capability.ts';
import type { MirrorVersions } from '../../../commands/ports/mirror-versions.ts';
import type { ChangeAttribution } from '../../../commands/ports/change-attribution.ts';
import type { MailCredentials } from '../../../commands/ports/mail-logins.ts';
import type { Leases } from '../../../commands/ports/leases.ts';
import type { PersonalData, Ports, SealedReader } from '../../../commands/ports/ports.ts';
import type { Sealed } from '../../../commands/values/sealed.ts';
import type { HashedPassword, Secrets, VerifiedPassword } from '../../../commands/ports/sign-in-port.ts';
import {
  bootstrapOrganisation,
  type Bootstrapped,
} from '../../../commands/organisation/bootstrap-organisation.ts';
import { createMailLogins } from '../../../infra/oauth/oauth-mail-logins.ts';
import { messageComposer } from '../../../infra/mail/compose-message.ts';
import { markupWork } from '../../../infra/markup/markup-worker.ts';
import { createIds } from '../../../infra/security/random-ids.ts';
import { createLocators } from '../../../infra/security/locators.ts';
import { createTokens } from '../../../infra/security/jwt-tokens.ts';
import { openDeliveryLog } from '../../../infra/webhooks/delivery-log.ts';
import { FakeSubmission } from '../fakes/fake-submission.ts';
import { FakeMailPort } from '../fakes/fake-mail-port.ts';
import { ManualClock } from '../fakes/manual-clock.ts';
import { MemoryAuthorizationRequests } from '../fakes/memory-authorization-requests.ts';
import { MemoryContentStore } from '../fakes/memory-content-store.ts';
import { MemoryDirectory } from '../fakes/memory-directory.ts';
import { MemoryLinks } from '../fakes/memory-links.ts';
import { MemoryEventStore } from '../fakes/memory-event-store.ts';
import { memoryTrails } from '../fakes/memory-trails.ts';
import { FakeWebhookSender, MemoryWebhookRecords, MemoryWebhookSecrets } from '../fakes/memory-webhooks.ts';
import { MemoryProviderAuthorizations } from '../fakes/memory-provider-authorizations.ts';
import { randomKey } from '../samples/random-key.ts';
import { sampleServer } from '../samples/server-info.ts';
import { invokeAs } from './invoke-as.ts';
import { ScriptedSql } from '../fakes/scripted-sql.ts';
import { silentLog } from '../fakes/silent-log.ts';

/** Reversible on purpose: a test can read an event without a key. */
export const plainPersonalData = (): PersonalData & { readonly erased: ReadonlySet<string> } => {
  const erased = new Set<string>();
  const reader: SealedReader = {
    open: (sealed) => {
      const [, ownerId = '', ...text] = sealed.split(':');
      return Promise.resolve(erased.has(ownerId) ? null : text.join(':'));
    },
    ownerOf: (text) => /^sealed:([^:]+):/.exec(text)?.[1] ?? null,
    prove: (sealed) => {
      const [, ownerId = '', ...text] = sealed.split(':');
      return Promise.resolve(erased.has(ownerId) ? 'erased' : { text: text.join(':'), salt: null });
    },
  };
  return {
    ...reader,
    erased,
    afresh: () => reader,
    seal: (ownerId, text) => Promise.resolve(`sealed:${ownerId}:${text}` as Sealed),
    isErased: (ownerId) => Promise.resolve(erased.has(ownerId)),
    erase: (ownerId) => {
      erased.add(ownerId);
      return Promise.resolve();
    },
  };
};

class MemorySecrets implements Secrets {
  readonly mail = new Map<string, MailCredentials>();
  readonly passwords = new Map<string, string>();

  saveMailCredentials(mailboxId: string, credentials: MailCredentials): Promise<void> {
    this.mail.set(mailboxId, credentials);
    return Promise.resolve();
  }
  loadMailCredentials(mailboxId: string): Promise<MailCredentials | null> {
    return Promise.resolve(this.mail.get(mailboxId) ?? null);
  }
  async changeMailCredentials(
    mailboxId: string,
    change: (before: MailCredentials) => Promise<MailCredentials | null>,
  ): Promise<MailCredentials | null> {
    const before = this.mail.get(mailboxId) ?? null;
    const after = before && (await change(before));
    if (after) this.mail.set(mailboxId, after);
    return after ?? before;
  }
  eraseMailCredentials(mailboxId: string): Promise<void> {
    this.mail.delete(mailboxId);
    return Promise.resolve();
  }
  weaknessOf(): Promise<null> {
    return Promise.resolve(null);
  }
  hashPassword(password: string): Promise<HashedPassword> {
    return Promise.resolve(password as HashedPassword);
  }
  savePassword(userId: string, password: HashedPassword): Promise<void> {
    this.passwords.set(userId, password);
    return Promise.resolve();
  }
  erasePassword(userId: string): Promise<void> {
    this.passwords.delete(userId);
    return Promise.resolve();
  }
  verifyPassword(userId: string | null, password: string): Promise<VerifiedPassword | null> {
    if (userId === null || this.passwords.get(userId) !== password) return Promise.resolve(null);
    return Promise.resolve({
      isCurrent: () => Promise.resolve(this.passwords.get(userId) === password),
    });
  }
}

/** Nothing is mirrored. */
const noCopies: MirrorVersions = {
  statusOf: (mailboxes) => {
    const empty = { lastEventAt: null, currentAt: null, indexed: 0, total: 0 };
    return Promise.resolve(new Map(mailboxes.map(({ id }) => [id, empty])));
  },
  knownMessage: () => Promise.resolve(null),
  firstContacts: () => Promise.resolve(null),
  knownCorrespondents: () => Promise.resolve(null),
  erase: () => Promise.resolve(),
};

/** No worker watches the mailbox. */
/** Expects nothing; the leases are taken. */
export const silentEchoes: ChangeAttribution = {
  expect: () => Promise.resolve({ settle: () => Promise.resolve() }),
  expectUnder: async ({ leases, name }) =>
    (await leases.acquire(name)) ? { settle: () => leases.release(name) } : null,
};

/** Leases of one or more runs over the same table. */
export const memoryLeases = (runId: string, held = new Map<string, string>()): Leases => ({
  runId,
  acquire: (name) => {
    const free = (held.get(name) ?? runId) === runId;
    if (free) held.set(name, runId);
    return Promise.resolve(free);
  },
  release: (name) => {
    if (held.get(name) === runId) held.delete(name);
    return Promise.resolve();
  },
  acquireBy: (_, take) => take({ runId, leaseMs: 30_000 }),
  releaseBy: (_, giveUp) => giveUp({ runId, leaseMs: 30_000 }),
  isHeld: (name) => held.get(name) === runId,
  holder: (name) => {
    const holder = held.get(name);
    return Promise.resolve(holder === undefined ? null : { runId: holder, until: new Date(0) });
  },
});

export function memoryPorts() {
  const clock = new ManualClock('2026-03-01T12:00:00.000Z');
  const events = new MemoryEventStore(() => clock.now());
  const secrets = new MemorySecrets();
  const mail = new FakeMailPort();
  const submission = new FakeSubmission();
  const sql = new ScriptedSql();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signingKey = { kid: 'k1', privateKey, publicKey: createPublicKey(privateKey), retired: false };
  const personal = plainPersonalData();
  const directory = new MemoryDirectory(events, personal);
  const ids = createIds(randomKey(), clock);
  const links = new MemoryLinks(clock);
  const sender = new FakeWebhookSender(clock);
  const records = new MemoryWebhookRecords();
  const authorizationRequests = new MemoryAuthorizationRequests();
  const ports: Partial<Ports> = {
    submission,
    clock,
    events,
    secrets,
    devices: { note: () => Promise.resolve(false), forget: () => Promise.resolve() },
    providerAuthorizations: new MemoryProviderAuthorizations(),
    logins: createMailLogins({
      secrets,
      clock,
      refresh: () => Promise.reject(new Error('these mailboxes have passwords')),
    }),
    mail,
    content: new MemoryContentStore(),
    composer: messageComposer,
    markup: markupWork,
    personal,
    links,
    ids,
    locators: createLocators(randomKey(), randomKey()),
    tokens: createTokens({ baseUrl: 'http://127.0.0.1', signingKeys: [signingKey], clock }),
    directory,
    attempts: { attempt: (_, check) => check() },
    sessionUse: { isIdle: () => Promise.resolve(false) },
    leases: memoryLeases('run_1'),
    changeAttribution: silentEchoes,
    mirrorVersions: noCopies,
    contacts: { writtenTo: () => Promise.resolve(new Set()) },
    trails: memoryTrails(events),
    sql,
    readModels: { waitFor: () => Promise.resolve(true) },
    accessLog: { record: () => Promise.resolve(), countRefusal: () => undefined },
    authorizationRequests,
    webhookSecrets: new MemoryWebhookSecrets(),
    webhookSender: sender,
    webhookRecords: records,
    deliveryLog: openDeliveryLog({ events, ids, clock, runId: 'run_1' }),
    seals: { anchorKinds: [], isSealed: () => Promise.resolve(true), sealNow: () => Promise.resolve() },
    log: silentLog,
    server: sampleServer(),
  };
  return {
    ...{ ports: ports as Ports, directory, clock, events, secrets, links },
    ...{ mail, submission, sql, sender, records, authorizationRequests },
  };
}

export interface CallOptions {
  readonly token?: string;
  readonly key?: string;
  readonly ifMatch?: string;
}

export const OWNER = {
  orgName: 'Example',
  ownerEmail: 'Owner@example.com',
  ownerName: 'Olive Owner',
  password: 'correct horse battery',
  agentName: 'Demo agent',
};

export type MemoryGateway = ReturnType<typeof memoryPorts> & {
  readonly org: Bootstrapped;
  /** The caller of a token id or a session id; throws when it was revoked or has no principal. */
  callerOf(tokenId: string): Caller;
  readonly ownerTokenId: string;
  /** Signs in a person (by default the owner) with a recent step-up; returns the id to use as `token`. */
  signIn(userId?: string, secretHash?: string): Promise<string>;
  /** Invokes with the owner's token, or another one by id. */
  invoke(capability: Capability, input: unknown, options?: CallOptions): Promise<Outcome>;
  /** The output only. */
  call<Output>(capability: Capability, input: unknown, options?: CallOptions): Promise<Output>;
};

/** A gateway with an organisation, its owner, an agent and their tokens. */
export async function startMemoryGateway(): Promise<MemoryGateway> {
  const parts = memoryPorts();
  const { ports, clock } = parts;
  const org = await bootstrapOrganisation(ports, OWNER);
  const ownerTokenId =
    ports.directory.state.tokenIdByHash.get(ports.tokens.hashRestToken(org.restToken) ?? '') ?? '';
  const callerById = (tokenId: string): Caller => {
    const { state } = ports.directory;
    const token = state.tokens.get(tokenId);
    const signedIn = state.sessions.get(tokenId);
    const ofToken = token?.revokedAt === null ? callerOf(state, token, clock.now()) : null;
    const caller = signedIn?.endedAt === null ? callerInSession(state, signedIn, clock.now()) : ofToken;
    if (!caller) throw new Error(`no caller behind ${tokenId}`);
    return caller;
  };
  const invoke: MemoryGateway['invoke'] = async (capability, input, options = {}) => {
    clock.advance(1);
    const caller = callerById(options.token ?? ownerTokenId);
    const { key = null, ifMatch = null } = options;
    return await invokeAs(ports, caller, [capability, input], { idempotencyKey: key, ifMatch });
  };
  const signIn = async (userId = org.userId, secretHash = ports.ids.newUuid()): Promise<string> => {
    const sessionId = ports.ids.newId('ses');
    const sealed = await ports.personal.seal(userId, secretHash);
    const { position } = await decideAndAppend(ports, systemAuthor(ports, org.orgId), session, {
      id: sessionId,
      decide: (state) => startSession(state, { userId, secretHash: sealed, now: clock.now() }),
    });
    if (position !== null) await ports.directory.waitFor(position);
    return sessionId;
  };
  return {
    ...parts,
    org,
    ownerTokenId,
    signIn,
    callerOf: callerById,
    invoke,
    call: async <Output>(capability: Capability, input: unknown, options?: CallOptions) =>
      (await invoke(capability, input, options)).output as Output,
  };
}
