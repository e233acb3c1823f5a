/** Decisions about a mailbox as a whole: adding, settings, credentials, pausing, removing. Pure. */
import { GatewayError } from '../values/errors.ts';
import type { HostSettings } from '../ports/mail-port.ts';
import type { MailProvider } from '../ports/mail-logins.ts';
import type { Sealed } from '../values/sealed.ts';
import { MAILBOX_SCOPES } from '../values/scopes.ts';
import { assertKnown, assertLive, type MailboxFact, type MailboxRecord } from './mailbox.ts';

/** How long a removed mailbox can be restored before it is erased (`contract.md` 4). */
const RESTORABLE_MS = 7 * 24 * 60 * 60 * 1_000;

/** How a mailbox logs in. */
type LoginKind = { readonly type: 'password' } | { readonly type: 'oauth2'; readonly provider: MailProvider };

const providerOf = (auth: LoginKind): string => (auth.type === 'oauth2' ? auth.provider : 'imap');

/** A password is stored with the change; a provider must be authorized afterwards. */
const storedWith = (auth: LoginKind): readonly MailboxFact[] =>
  auth.type === 'password' ? [{ type: 'MailboxCredentialsStored', data: {} }] : [];

interface AddMailbox {
  readonly number: number;
  readonly email: Sealed;
  readonly displayName: Sealed | null;
  readonly imap: HostSettings;
  readonly smtp: HostSettings;
  readonly auth: LoginKind;
  readonly creator: { readonly id: string; readonly kind: 'user' | 'agent'; readonly grantId: string };
}

/**
 * Adds the mailbox, its credentials and its creator's grant of every mailbox scope. Throws `conflict` when it
 * exists.
 */
export function addMailbox(state: MailboxRecord, command: AddMailbox): readonly MailboxFact[] {
  if (state.number !== null) throw new GatewayError('conflict', 'This mailbox exists already.');
  const { number, email, displayName, imap, smtp, auth, creator } = command;
  return [
    {
      type: 'MailboxAdded',
      data: {
        number,
        email,
        display_name: displayName,
        provider: providerOf(auth),
        auth_type: auth.type,
        imap,
        smtp,
      },
    },
    ...storedWith(auth),
    {
      type: 'GrantGiven',
      data: {
        grant_id: creator.grantId,
        principal_id: creator.id,
        principal_kind: creator.kind,
        scopes: [...MAILBOX_SCOPES],
        folder_roles: null,
        expires_at: null,
        quotas: null,
      },
    },
  ];
}

interface ChangeMailbox {
  /** Absent = unchanged, null = cleared. */
  readonly displayName?: Sealed | null;
  readonly imap?: HostSettings | undefined;
  readonly smtp?: HostSettings | undefined;
  readonly trustedAuthservIds?: readonly string[] | undefined;
  /** Present when credentials come with the change, or must be authorized after it. */
  readonly auth: LoginKind | undefined;
  readonly paused?: boolean | undefined;
  readonly restore?: boolean | undefined;
  readonly now: Date;
}

/**
 * All changes of a PATCH together. Throws `invalid_request` when host, port or security change without
 * credentials (stored ones are sent only to the hosts they were stored for), `conflict` for a removed mailbox
 * that is not restored.
 */
export function changeMailboxSettings(state: MailboxRecord, command: ChangeMailbox): readonly MailboxFact[] {
  assertKnown(state);
  const restored = command.restore === true ? restore(state, command.now) : [];
  if (restored.length === 0) assertLive(state);
  const changed = changedSettings(state, command);
  if ((changed.imap ?? changed.smtp) && !command.auth) throw needsCredentials();
  const facts: MailboxFact[] = [...restored];
  if (Object.keys(changed).length > 0) facts.push({ type: 'MailboxChanged', data: changed });
  if (command.auth) facts.push(...storedWith(command.auth));
  const paused = state.state === 'paused';
  if (command.paused === true && !paused) facts.push({ type: 'MailboxPaused', data: {} });
  if (command.paused === false && paused) facts.push({ type: 'MailboxResumed', data: {} });
  return facts;
}

type ChangedFact = Extract<MailboxFact, { readonly type: 'MailboxChanged' }>;

const changedSettings = (state: MailboxRecord, command: ChangeMailbox): ChangedFact['data'] => ({
  ...(command.auth && changedLogin(state, command.auth)),
  ...(command.displayName !== undefined && { display_name: command.displayName }),
  ...(command.imap && !sameHost(state.imap, command.imap) && { imap: command.imap }),
  ...(command.smtp && !sameHost(state.smtp, command.smtp) && { smtp: command.smtp }),
  ...(command.trustedAuthservIds &&
    !sameList(state.trustedAuthservIds, command.trustedAuthservIds) && {
      trusted_authserv_ids: [...command.trustedAuthservIds],
    }),
});

/** Naming a provider again requires a new authorization. */
const changedLogin = (state: MailboxRecord, auth: LoginKind): ChangedFact['data'] =>
  auth.type === 'oauth2' || state.authType !== 'password'
    ? { auth_type: auth.type, provider: providerOf(auth) }
    : {};

/** Host, port and security decide where a password is sent and who can read it in transit. */
export const sameHost = (a: HostSettings | null, b: HostSettings | null): boolean =>
  a === b ||
  (a !== null && b !== null && a.host === b.host && a.port === b.port && a.security === b.security);

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

/** The refusal of new hosts without credentials for them. */
export const needsCredentials = (): GatewayError => {
  const message = 'Stored credentials only go to the host they were stored for; send auth with the new host.';
  return new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'auth', code: 'custom', message }] },
  });
};

function restore(state: MailboxRecord, now: Date): readonly MailboxFact[] {
  if (state.state !== 'removed') return [];
  if (state.eraseAt !== null && Date.parse(state.eraseAt) <= now.getTime()) {
    throw new GatewayError('conflict', 'This mailbox is being erased and can no longer be restored.');
  }
  return [{ type: 'MailboxRestored', data: {} }];
}

/**
 * New credentials for the current hosts. Throws `not_found`, or `conflict` for a mailbox that logs in with a
 * provider.
 */
export function storeCredentials(state: MailboxRecord): readonly MailboxFact[] {
  assertLive(state);
  if (state.authType === 'oauth2') {
    throw new GatewayError(
      'conflict',
      'This mailbox logs in with its provider; PATCH {"auth": {"type": "password", …}} for another way.',
    );
  }
  return [{ type: 'MailboxCredentialsStored', data: {} }];
}

/** A mailbox that is already removed does not change. */
export function removeMailbox(state: MailboxRecord, now: Date): readonly MailboxFact[] {
  assertKnown(state);
  if (state.state === 'removed') return [];
  const eraseAt = new Date(now.getTime() + RESTORABLE_MS).toISOString();
  return [{ type: 'MailboxRemoved', data: { erase_at: eraseAt } }];
}

/** True when a removed mailbox can no longer be restored. */
export const isDueForErasure = (state: MailboxRecord, now: Date): boolean =>
  state.state === 'removed' &&
  !state.erased &&
  state.eraseAt !== null &&
  Date.parse(state.eraseAt) <= now.getTime();

/** The erasure of a removed mailbox; nothing when it was restored or erased meanwhile. */
export const eraseMailbox = (state: MailboxRecord, now: Date): readonly MailboxFact[] =>
  isDueForErasure(state, now) ? [{ type: 'MailboxErased', data: {} }] : [];
