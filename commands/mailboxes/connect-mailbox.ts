/** One attempt to connect a mailbox, and its effect on the mailbox's state (`contract.md` 4). */
import { decideAndAppend, systemAuthor } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { FolderListing } from '../ports/mail-port.ts';
import type { Ports } from '../ports/ports.ts';
import {
  mayConnect,
  recordAnswering,
  recordAuthFailed,
  recordConnected,
  recordConnectionFailed,
  startConnecting,
} from './decide-connection.ts';
import { mailbox, type MailboxFact, type MailboxRecord } from './mailbox.ts';
import { registerFolders } from './register-folders.ts';

export type ConnectOutcome =
  | { readonly outcome: 'connected' }
  /** Retried after a pause. */
  | { readonly outcome: 'connection_failed'; readonly error: GatewayError }
  /** Not retried until other credentials are stored. */
  | { readonly outcome: 'auth_failed'; readonly error: GatewayError }
  /** Paused, removed or unknown: nothing was tried. */
  | { readonly outcome: 'skipped' };

/** What a mail server reports of itself and the mailbox. */
interface Greeting {
  readonly capabilities: readonly string[];
  readonly listing: readonly FolderListing[];
}

/**
 * Tries once: `greet` connects and lists the folders. When this resolves, the outcome is in the stream of the
 * mailbox and in the directory. Throws errors unrelated to the mailbox: `store_unavailable`, `overloaded`.
 */
export async function connectMailbox(
  ports: Ports,
  mailboxId: string,
  greet: () => Promise<Greeting>,
): Promise<ConnectOutcome> {
  const entry = ports.directory.state.mailboxes.get(mailboxId);
  if (!entry) return { outcome: 'skipped' };
  // Many mailboxes connect at once when a process starts: a stream is read only when the directory shows a
  // need.
  if (RESTING.has(entry.state)) return { outcome: 'skipped' };
  if (entry.state === 'pending' && !mayConnect(await note(ports, entry, startConnecting))) {
    return { outcome: 'skipped' };
  }
  const author = systemAuthor(ports, entry.orgId);
  try {
    const { capabilities, listing } = await greet();
    await registerFolders(ports, author, mailboxId, listing);
    if (!answersAsBefore(ports.directory.state.mailboxes.get(mailboxId), capabilities)) {
      await note(ports, entry, (state) => recordAnswering(state, capabilities));
    }
    return { outcome: 'connected' };
  } catch (thrown) {
    const error = whileConnecting(thrown);
    const outcome = mailFailure(error);
    if (outcome === null) throw thrown;
    await recordMailFailure(ports, mailboxId, error);
    return { outcome, error: error as GatewayError };
  }
}

const RESTING: ReadonlySet<MailboxEntry['state']> = new Set(['paused', 'removed']);

const answersAsBefore = (entry: MailboxEntry | undefined, capabilities: readonly string[]): boolean =>
  (entry?.state === 'connected' || entry?.state === 'syncing') &&
  entry.capabilities.join(' ') === capabilities.join(' ');

/**
 * A mailbox whose folders cannot be listed is unusable. Later, a refused command says nothing about the
 * mailbox.
 */
function whileConnecting(error: unknown): unknown {
  const refused =
    error instanceof GatewayError &&
    (error.code === 'provider_rejected' || error.code === 'provider_timeout');
  if (!refused) return error;
  return new GatewayError('mailbox_unavailable', 'The mail server does not list its folders.', {
    details: { reason: 'folders_refused' },
    cause: error,
  });
}

/**
 * Records a failure of the mail side in the mailbox's state. An error unrelated to the mailbox (a refused
 * command, a full pool, an unreachable store) changes nothing. Throws `store_unavailable`.
 */
export async function recordMailFailure(ports: Ports, mailboxId: string, error: unknown): Promise<void> {
  const entry = ports.directory.state.mailboxes.get(mailboxId);
  const outcome = mailFailure(error);
  if (!entry || outcome === null) return;
  const reason = reasonOf(error as GatewayError);
  await note(ports, entry, (state) =>
    outcome === 'auth_failed' ? recordAuthFailed(state, reason) : recordConnectionFailed(state, reason),
  );
}

/**
 * Every folder of the mailbox is in the mirror now. A mailbox that waits for a new connection, as after a
 * change of credentials, keeps waiting. Throws `store_unavailable`.
 */
export async function recordSynced(ports: Ports, mailboxId: string): Promise<void> {
  const entry = ports.directory.state.mailboxes.get(mailboxId);
  if (!entry) return;
  await note(ports, entry, (state) =>
    AWAITED.has(state.state) ? [] : recordConnected(state, state.capabilities),
  );
}

const AWAITED: ReadonlySet<MailboxRecord['state']> = new Set(['pending', 'connecting']);

/**
 * Records a working connection in the state of a mailbox that had failed. Otherwise cheap, as every
 * connection calls it. The connector makes the first connection, which also reads the capabilities. Throws
 * `store_unavailable`.
 */
export async function recordMailHealth(ports: Ports, mailboxId: string): Promise<void> {
  const entry = ports.directory.state.mailboxes.get(mailboxId);
  if (!entry || entry.capabilities.length === 0) return;
  if (!FAILED.has(entry.state)) return;
  await note(ports, entry, (state) => recordAnswering(state, state.capabilities));
}

const FAILED: ReadonlySet<MailboxEntry['state']> = new Set(['connection_failed', 'auth_failed', 'degraded']);

function mailFailure(error: unknown): 'auth_failed' | 'connection_failed' | null {
  if (!(error instanceof GatewayError)) return null;
  switch (error.code) {
    case 'mailbox_auth_failed':
      return 'auth_failed';
    case 'mailbox_unavailable':
    case 'target_blocked':
      return 'connection_failed';
    default:
      return null;
  }
}

/** One word, never the server's text: that may contain an address, which events store only sealed. */
const reasonOf = ({ code, details }: GatewayError): string => {
  const { reason } = details as { readonly reason?: unknown };
  return typeof reason === 'string' && /^[a-z][a-z0-9_]{0,39}$/.test(reason) ? reason : code;
};

async function note(
  ports: Ports,
  entry: MailboxEntry,
  decide: (state: MailboxRecord) => readonly MailboxFact[],
): Promise<MailboxRecord> {
  const author = systemAuthor(ports, entry.orgId);
  const { state, appended } = await decideAndAppend(ports, author, mailbox, { id: entry.id, decide });
  if (appended) await ports.directory.waitFor(appended.position);
  return state;
}
