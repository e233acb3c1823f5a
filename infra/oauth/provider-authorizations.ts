/** The `ProviderAuthorizations` port: pending requests are stored in `vault`, the answer is exchanged at the provider. */
import { createHash, type KeyObject } from 'node:crypto';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Clock, Log, Row, Sql } from '../../commands/ports/ports.ts';
import type {
  AuthorizationRequest,
  ProviderAuthorizations,
  TakenAuthorization,
} from '../../commands/ports/mail-logins.ts';
import { openBox, sealBox } from '../security/sealed-box.ts';
import { newProof, type Proof } from './provider-client.ts';
import type { ProviderClients } from './provider-client.ts';

export interface ProviderAuthorizationsOptions {
  readonly sql: Sql;
  readonly masterKey: KeyObject;
  readonly clock: Clock;
  readonly clients: ProviderClients;
  readonly log: Log;
}

/** How long a person has to sign in at the provider and return. */
const PENDING_MS = 10 * 60_000;

interface Pending {
  readonly request: AuthorizationRequest;
  readonly proof: Proof;
}

interface StoredRow extends Row {
  readonly sealed: Buffer;
}

export function createProviderAuthorizations(options: ProviderAuthorizationsOptions): ProviderAuthorizations {
  const { sql, masterKey, clock, clients, log } = options;
  const opened = (state: string, [row]: readonly StoredRow[]): Pending | null => {
    const content = row && openBox(masterKey, row.sealed, contextOf(state));
    return content ? (JSON.parse(content.toString()) as Pending) : null;
  };
  const save = async (pending: Pending, expiresAt: Date): Promise<void> => {
    const { state } = pending.proof;
    await sql.query('delete from vault.provider_authorization where expires_at <= $1', [clock.now()]);
    await sql.query(
      'insert into vault.provider_authorization (state_sha256, mailbox_id, sealed, expires_at) values ($1, $2, $3, $4)',
      [
        hashOf(state),
        pending.request.mailboxId,
        sealBox(masterKey, Buffer.from(JSON.stringify(pending)), contextOf(state)),
        expiresAt,
      ],
    );
  };
  return {
    requireRegistered: (provider) => void clients.of(provider),
    begin: async (request) => {
      const proof = newProof();
      const expiresAt = new Date(clock.now().getTime() + PENDING_MS);
      const authorizeUrl = await clients.of(request.provider).authorizeUrl(proof, request.email);
      await save({ request, proof }, expiresAt);
      return { authorizeUrl, expiresAt };
    },
    find: async (state) =>
      opened(state, await sql.query<StoredRow>(FIND, [hashOf(state), clock.now()]))?.request ?? null,
    take: async (state) => opened(state, await sql.query<StoredRow>(TAKE, [hashOf(state), clock.now()])),
    redeem: async (taken, answer) => {
      const { provider } = taken.request;
      const { tokens, addresses } = await clients.of(provider).redeem(answer, proofOf(taken));
      const { refreshToken, accessToken, accessTokenExpiresAt } = tokens;
      if (refreshToken === null) throw nothingLasting();
      const ends = accessTokenExpiresAt.toISOString();
      return { addresses, tokens: { refreshToken, accessToken, accessTokenExpiresAt: ends } };
    },
    forget: async (mailboxId) => {
      await sql.query('delete from vault.provider_authorization where mailbox_id = $1', [mailboxId]);
    },
    revoke: async (provider, refreshToken) => {
      try {
        return await clients.of(provider).revoke(refreshToken);
      } catch (error) {
        log.warn('oauth: token not revoked at the provider', {
          provider,
          error: String(error),
        });
        return false;
      }
    },
  };
}

const FIND = 'select sealed from vault.provider_authorization where state_sha256 = $1 and expires_at > $2';
const TAKE =
  'delete from vault.provider_authorization where state_sha256 = $1 and expires_at > $2 returning sealed';

/** Only the holder of the state can find the row; the database alone is not enough to answer a provider. */
const hashOf = (state: string): Buffer => createHash('sha256').update(state).digest();

const contextOf = (state: string): string => `provider_authorization ${hashOf(state).toString('hex')}`;

const proofOf = ({ proof }: TakenAuthorization): Proof => proof as Proof;

const nothingLasting = (): GatewayError =>
  new GatewayError(
    'mailbox_auth_failed',
    'The provider gave no lasting permission (no refresh token); request the authorization again.',
    { details: { reason: 'no_refresh_token' } },
  );
