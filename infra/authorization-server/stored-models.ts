/**
 * The library's storage: requests, codes, refresh tokens and self-registered clients are rows, grants and an organisation's
 * clients are read from the directory, and its own sessions do not exist.
 */
import Provider, { type Adapter, type AdapterPayload, type ClientMetadata, errors } from 'oidc-provider';
import type { GrantEnd } from '../../commands/oauth/oauth-grant.ts';
import type { OAuthClientEntry, OAuthGrantEntry } from '../../commands/ports/directory.ts';
import type { Clock, Ports } from '../../commands/ports/ports.ts';
import { ERROR_TABLE, GatewayError } from '../../commands/values/errors.ts';
import { kindOf, registeredClient } from './authorization-requests.ts';
import type { AtRequest, GrantRecords } from './grant-records.ts';
import type { Predecessor, StateRow, StateRows } from './state-rows.ts';

export interface StoredModelsOptions {
  readonly rows: StateRows;
  readonly records: GrantRecords;
  readonly directory: Ports['directory'];
  readonly clock: Clock;
  /** The one resource that tokens are for (RFC 8707). */
  readonly resource: string;
}

/** A refresh token may be used again for this long, unless what follows it was used: its answer may have been lost. */
const GRACE_MS = 30_000;
/** A client that registered itself and was never allowed anything is forgotten. */
const UNUSED_CLIENT_MS = 30 * 24 * 60 * 60_000;

type Context = NonNullable<typeof Provider.ctx>;

/** An adapter for each model of the library. */
export function storedModels(options: StoredModelsOptions): (model: string) => Adapter {
  const tokens = new Tokens(options);
  const models: Readonly<Record<string, Partial<Adapter>>> = {
    Interaction: interactions(options),
    AuthorizationCode: tokens.codes(),
    RefreshToken: tokens.refreshTokens(),
    Grant: grants(options),
    Client: clients(options),
    // Each authorization is decided anew, so nobody is signed in here.
    Session: { upsert: () => Promise.resolve() },
  };
  return (model) => guarded({ ...nothing(model), ...models[model] });
}

const nothing = (model: string): Adapter => ({
  upsert: () => Promise.reject(new Error(`${model} is not stored`)),
  find: () => Promise.resolve(undefined),
  findByUid: () => Promise.resolve(undefined),
  findByUserCode: () => Promise.resolve(undefined),
  consume: () => Promise.reject(new Error(`${model} is not stored`)),
  destroy: () => Promise.resolve(),
  // A grant ends as a whole (`Grant.destroy`).
  revokeByGrantId: () => Promise.resolve(),
});

function guarded(adapter: Adapter): Adapter {
  return {
    upsert: (...given) => outageTold(() => adapter.upsert(...given)),
    find: (id) => outageTold(() => adapter.find(id)),
    findByUid: (uid) => outageTold(() => adapter.findByUid(uid)),
    findByUserCode: (code) => outageTold(() => adapter.findByUserCode(code)),
    consume: (id) => outageTold(() => adapter.consume(id)),
    destroy: (id) => outageTold(() => adapter.destroy(id)),
    revokeByGrantId: (id) => outageTold(() => adapter.revokeByGrantId(id)),
  };
}

/** What may succeed later is told as such, not as a defect. */
export async function outageTold<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GatewayError) || !ERROR_TABLE[error.code].retryable) throw error;
    throw Object.assign(new errors.OIDCProviderError(503, 'temporarily_unavailable'), {
      error_description: error.message,
      expose: true,
    });
  }
}

/** The request under way. */
function context(): Context {
  const { ctx } = Provider;
  if (ctx === undefined) throw new Error('the authorization server stores nothing outside a request');
  return ctx;
}

const atRequest = ({ req, res }: Context): AtRequest => ({
  request: req,
  requestId: String(res.getHeader('Request-Id')),
});

const endAfter = (clock: Clock, seconds = 0): Date => new Date(clock.now().getTime() + seconds * 1_000);

const interactions = ({ rows, clock }: StoredModelsOptions): Partial<Adapter> => ({
  upsert: (id, payload, seconds) =>
    rows.put({ model: 'Interaction', id, payload: { ...payload }, expiresAt: endAfter(clock, seconds) }),
  find: async (id) => payloadOf(await rows.find('Interaction', id)),
  destroy: async (id) => {
    // Of two requests that go on at once, one does.
    if (!(await rows.take('Interaction', id)))
      throw new errors.SessionNotFound('This connection went on elsewhere.');
  },
});

const payloadOf = (row: StateRow | null): AdapterPayload | undefined =>
  row === null ? undefined : { ...row.payload };

/** Codes and refresh tokens. A code and the tokens that follow it belong to one grant. */
class Tokens {
  readonly #options: StoredModelsOptions;
  /** What a request uses up; it is consumed together with the storing of what follows. */
  readonly #used = new WeakMap<Context, Predecessor>();

  constructor(options: StoredModelsOptions) {
    this.#options = options;
  }

  codes(): Partial<Adapter> {
    const { rows, directory, clock } = this.#options;
    return {
      upsert: async (id, payload, seconds) => {
        const { clientId = '', grantId = '' } = payload;
        if (kindOf(directory.state, clientId) === 'dynamic') await rows.keep('Client', clientId);
        const expiresAt = endAfter(clock, seconds);
        await rows.put({ model: 'AuthorizationCode', id, payload: { ...payload }, expiresAt, grantId });
      },
      find: (id) => this.#found({ model: 'AuthorizationCode', id }, 0),
      consume: (id) => this.#use({ model: 'AuthorizationCode', id }),
    };
  }

  refreshTokens(): Partial<Adapter> {
    return {
      upsert: (id, payload, seconds) => this.#follow(id, payload, seconds),
      find: (id) => this.#found({ model: 'RefreshToken', id }, GRACE_MS),
      consume: (id) => this.#use({ model: 'RefreshToken', id }),
    };
  }

  #use(predecessor: Predecessor): Promise<void> {
    this.#used.set(context(), predecessor);
    return Promise.resolve();
  }

  /** It counts as consumed once `graceMs` have passed since. */
  async #found({ model, id }: Predecessor, graceMs: number): Promise<AdapterPayload | undefined> {
    const { rows, clock } = this.#options;
    const row = await rows.find(model, id);
    if (row === null) return undefined;
    const { consumedAt } = row;
    const isOver = consumedAt !== null && clock.now().getTime() - consumedAt.getTime() >= graceMs;
    return { ...row.payload, ...(isOver && { consumed: Math.floor(consumedAt.getTime() / 1_000) }) };
  }

  /** The event, then the predecessor and the new token together: no token without an event, and none from a code used twice. */
  async #follow(id: string, payload: AdapterPayload, seconds?: number): Promise<void> {
    const { rows, records, clock } = this.#options;
    const ctx = context();
    const { grantId = '' } = payload;
    const { rotations = 0 } = payload as { readonly rotations?: number };
    const from = this.#used.get(ctx);
    if (from === undefined) throw new Error('a refresh token follows a code or another one');
    const grant = await records.live(grantId);
    if (grant === null) throw new errors.InvalidGrant('the permission has ended');
    await records.rotated(grant, rotations, atRequest(ctx));
    const expiresAt = endAfter(clock, seconds);
    const next = { model: 'RefreshToken', id, payload: { ...payload }, expiresAt } as const;
    const reuse = await rows.succeed({ from, next: { ...next, grantId, rotation: rotations } });
    if (reuse === null) return;
    await endGrant(this.#options, grantId, reuse, ctx);
    throw new errors.InvalidGrant('what follows it was used already');
  }
}

/** The end is in the log and known here before anything is answered; then nothing of it is kept. */
async function endGrant(
  { records, rows }: StoredModelsOptions,
  grantId: string,
  reason: GrantEnd,
  ctx: Context,
): Promise<void> {
  await records.end(grantId, reason, atRequest(ctx));
  await rows.forgetGrants([grantId]);
}

const grants = (options: StoredModelsOptions): Partial<Adapter> => ({
  find: async (id) => {
    const grant = await options.records.live(id);
    return grant === null ? undefined : grantPayload(grant, options.resource);
  },
  destroy: async (id) => {
    const ctx = context();
    await endGrant(options, id, reasonOf(ctx), ctx);
  },
});

/** The library ends a grant when its client asks for it, and when a code or refresh token is used again. */
function reasonOf({ oidc }: Context): GrantEnd {
  if (oidc.route === 'revocation') return 'revoked_by_application';
  return oidc.params?.['grant_type'] === 'refresh_token' ? 'refresh_token_reused' : 'code_reused';
}

const seconds = (time: string): number => Math.floor(Date.parse(time) / 1_000);

const grantPayload = (grant: OAuthGrantEntry, resource: string): AdapterPayload => ({
  kind: 'Grant',
  jti: grant.id,
  iat: seconds(grant.createdAt),
  exp: seconds(grant.expiresAt),
  accountId: grant.principalId,
  clientId: grant.clientId,
  resources: { [resource]: grant.scopes.join(' ') },
});

const clients = ({ rows, records, directory, clock }: StoredModelsOptions): Partial<Adapter> => ({
  find: async (id) => {
    const registered = registeredClient(directory.state, id);
    if (registered !== null) return clientMetadata(registered);
    return payloadOf(await rows.find('Client', id));
  },
  upsert: async (id, payload) => {
    const { client_name: name = '', redirect_uris: redirectUris = [] } = payload as Partial<ClientMetadata>;
    await records.selfRegistered(id, { name, redirectUris }, atRequest(context()));
    const expiresAt = new Date(clock.now().getTime() + UNUSED_CLIENT_MS);
    await rows.put({ model: 'Client', id, payload: { ...payload }, expiresAt });
  },
});

const clientMetadata = ({ id, name, redirectUris, secretHash }: OAuthClientEntry): AdapterPayload => ({
  client_id: id,
  client_name: name,
  redirect_uris: [...redirectUris],
  ...(secretHash !== null && {
    token_endpoint_auth_method: 'client_secret_basic',
    // Compared as a hash (`provider.ts`). A hash that nobody can read matches nothing.
    client_secret: secretHash === '' ? 'unreadable' : secretHash,
  }),
});
