/** The `MailLogins` port: passwords unchanged, access tokens renewed before they expire, once for all processes. */
import { GatewayError } from '../../commands/values/errors.ts';
import {
  hostsOf,
  type MailCredentials,
  type MailLogins,
  type ProviderCredentials,
} from '../../commands/ports/mail-logins.ts';
import type { MailLogin } from '../../commands/ports/mail-port.ts';
import type { MailProvider } from '../../commands/ports/mail-logins.ts';
import type { Clock } from '../../commands/ports/ports.ts';
import type { Secrets } from '../../commands/ports/sign-in-port.ts';
import { KeyedBackoff } from '../concurrency/backoff.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import type { Tokens } from './provider-client.ts';
import { authorizationRefused } from './provider-client.ts';

export interface MailLoginsOptions {
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** Throws `mailbox_auth_failed` when the provider refuses permanently. */
  readonly refresh: (provider: MailProvider, refreshToken: string) => Promise<Tokens>;
}

/** A token is renewed this long before it expires, so that it cannot expire during a login. */
const EARLY_MS = 90_000;
/** Each renewal holds a database connection while the provider is asked. */
const RENEWALS_AT_ONCE = 4;
const MOST_WAIT_MS = 20_000;
const PROVIDER_AWAY = { firstMs: 1_000, mostMs: 60_000 };

interface Unsaved {
  readonly from: string;
  readonly tokens: Tokens;
}

export function createMailLogins(options: MailLoginsOptions): MailLogins {
  const renewals = new Renewals(options);
  return {
    current: async (mailbox, refused) => {
      const stored = await options.secrets.loadMailCredentials(mailbox.id);
      if (stored?.kind !== 'oauth2') return loginOf(stored);
      if (stored.hosts !== hostsOf(mailbox)) throw otherHosts();
      if (stored.refreshToken === null || renewals.isGood(stored, refused)) return loginOf(stored);
      return loginOf(await renewals.renew(mailbox.id, refused));
    },
  };
}

class Renewals {
  readonly #options: MailLoginsOptions;
  readonly #slots = new Semaphore(RENEWALS_AT_ONCE);
  readonly #pauses: KeyedBackoff;
  readonly #failures = new Map<string, unknown>();
  readonly #renewals = new SingleFlight<MailCredentials | null>();
  /** Tokens from the provider that could not be stored: it may accept only their refresh token. */
  readonly #unsaved = new Map<string, Unsaved>();

  constructor(options: MailLoginsOptions) {
    this.#options = options;
    this.#pauses = new KeyedBackoff(options.clock, PROVIDER_AWAY);
  }

  isGood({ accessToken, accessTokenExpiresAt }: ProviderCredentials, refused?: MailLogin): boolean {
    if (refused?.kind === 'oauth2' && refused.accessToken === accessToken) return false;
    return Date.parse(accessTokenExpiresAt) - this.#now() > EARLY_MS;
  }

  /** Callers of one mailbox share a renewal, and its failure while the provider is unavailable. */
  async renew(mailboxId: string, refused?: MailLogin): Promise<MailCredentials | null> {
    if (!this.#pauses.isDue(mailboxId)) throw this.#failures.get(mailboxId);
    return await this.#renewals.join(mailboxId, () => this.#renewAlone(mailboxId, refused));
  }

  async #renewAlone(mailboxId: string, refused?: MailLogin): Promise<MailCredentials | null> {
    if (!(await this.#slots.acquire(MOST_WAIT_MS))) throw busy();
    try {
      // The new refresh token is stored when this resolves, so no access token is used before.
      const credentials = await this.#options.secrets.changeMailCredentials(mailboxId, (before) =>
        this.#renewed(mailboxId, before, refused),
      );
      this.#unsaved.delete(mailboxId);
      this.#pauses.clear(mailboxId);
      this.#failures.delete(mailboxId);
      return credentials;
    } catch (error) {
      this.#failures.set(mailboxId, error);
      this.#pauses.failed(mailboxId);
      throw error;
    } finally {
      this.#slots.release();
    }
  }

  /** What to store instead; nothing when another process was first. */
  async #renewed(
    mailboxId: string,
    before: MailCredentials,
    refused?: MailLogin,
  ): Promise<MailCredentials | null> {
    if (before.kind !== 'oauth2' || before.refreshToken === null || this.isGood(before, refused)) return null;
    const { refreshToken, provider } = before;
    try {
      const unsaved = this.#unsaved.get(mailboxId);
      const tokens =
        unsaved?.from === refreshToken ? unsaved.tokens : await this.#options.refresh(provider, refreshToken);
      this.#unsaved.set(mailboxId, { from: refreshToken, tokens });
      return {
        ...before,
        refreshToken: tokens.refreshToken ?? refreshToken,
        accessToken: tokens.accessToken,
        accessTokenExpiresAt: tokens.accessTokenExpiresAt.toISOString(),
      };
    } catch (error) {
      const isOver = error instanceof GatewayError && error.code === 'mailbox_auth_failed';
      if (isOver) return { ...before, refreshToken: null };
      throw error;
    }
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

function loginOf(stored: MailCredentials | null): MailLogin {
  if (stored === null) throw nothingStored();
  if (stored.kind === 'password') return stored;
  const { refreshToken, username, accessToken } = stored;
  if (refreshToken === null) throw authorizationRefused();
  return { kind: 'oauth2', username, accessToken };
}

const nothingStored = (): GatewayError =>
  new GatewayError(
    'mailbox_auth_failed',
    'No credentials are stored; PUT them to …/credentials, or POST …/provider-authorization.',
    { details: { reason: 'credentials_missing' } },
  );

const otherHosts = (): GatewayError =>
  new GatewayError(
    'mailbox_auth_failed',
    'The authorization is for other hosts than the mailbox has now; authorize it again.',
    { details: { reason: 'authorized_for_other_hosts' } },
  );

const busy = (): GatewayError =>
  new GatewayError('mailbox_unavailable', 'Many access tokens are being renewed; try again.', {
    details: { reason: 'provider_unavailable' },
  });
