/**
 * Loads a draft for a caller. A draft that the caller must not see does not exist; a grant without the scope
 * is refused.
 */
import type { MailboxAccess } from '../kernel/access.ts';
import { insufficientScope } from '../kernel/authorize.ts';
import type { Context } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { invalidField, notFound } from '../values/errors.ts';
import type { Locators } from '../ports/ports.ts';
import type { ExpectedRevision } from '../ports/event-store.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { asReached } from '../kernel/folders.ts';
import type { Expected } from './decide-draft.ts';
import { draft, type DraftState } from './draft.ts';
import type { IdPrefix } from '../values/ids.ts';
import { authorizeOperation } from '../operations/authorize-operation.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';

export interface LoadedDraft {
  readonly id: string;
  readonly state: DraftState;
  readonly revision: ExpectedRevision;
  readonly mailbox: MailboxEntry;
  readonly access: MailboxAccess;
}

type Who = Pick<Context, 'ports' | 'caller'>;

const FORM = /^drf_[0-9a-z]{26}$/;

/**
 * The mailbox of a draft and the caller's access to it. Throws `not_found`, or `insufficient_scope` naming
 * the scopes.
 */
export function mailboxFor(
  { ports, caller }: Who,
  mailboxId: string | null,
  needed: readonly MailboxScope[],
): Pick<LoadedDraft, 'mailbox' | 'access'> {
  const mailbox = mailboxId === null ? undefined : ports.directory.state.mailboxes.get(mailboxId);
  const access = mailboxId === null ? undefined : caller.mailboxes.get(mailboxId);
  if (mailbox?.orgId !== caller.org.id || !access) throw notFound('draft');
  assertScopes(access, needed);
  return { mailbox, access };
}

/** Throws `insufficient_scope` with the missing scopes. */
export function assertScopes(access: MailboxAccess, needed: readonly MailboxScope[]): void {
  const required = needed.filter((scope) => !access.scopes.has(scope));
  if (required.length > 0) throw insufficientScope(required, 'all');
}

/** Throws `not_found`, also for a draft outside the folders of the grant, and `insufficient_scope`. */
export async function loadDraft(who: Who, id: string, needed: readonly MailboxScope[]): Promise<LoadedDraft> {
  if (!FORM.test(id)) throw notFound('draft');
  const { state, revision } = await loadAggregate(who.ports.events, draft, id);
  const on = mailboxFor(who, state.mailboxId, []);
  if (!liesWithin(who.ports.locators, on, state)) throw notFound('draft');
  assertScopes(on.access, needed);
  return { id, state, revision, ...on };
}

/**
 * True when the grant reaches the folder of the draft. A reply or a forward, with what it quotes, belongs to
 * the folder of its source; any other draft belongs to none and is always reached.
 */
export function liesWithin(
  locators: Locators,
  { mailbox, access }: Pick<LoadedDraft, 'mailbox' | 'access'>,
  { sourceMessageId }: Pick<DraftState, 'sourceMessageId'>,
): boolean {
  if (access.folderRoles === null || sourceMessageId === null) return true;
  const place = locators.openMessage(sourceMessageId);
  return asReached(mailbox, access).folders.some(({ number }) => number === place?.folderNumber);
}

/** Matches no draft: the value of an `If-Match` that is not an entity tag of a draft. */
const NO_DRAFT: Expected = { version: 0 };

/** The version and revision of an entity tag that `draftETag` wrote. */
function expectedByTag(tag: string): Expected {
  const [, version, revision] = /^([1-9]\d{0,8})\.(\d{1,9})$/.exec(tag) ?? [];
  return version === undefined ? NO_DRAFT : { version: Number(version), revision: Number(revision) };
}

/**
 * The draft that a request is based on: a version in its input, or a full entity tag in `If-Match`. Throws
 * `invalid_request` when both name different versions.
 */
export function expectedOf(
  { request }: Pick<Context, 'request'>,
  version: number | undefined,
): Expected | null {
  const { ifMatch } = request;
  const tagged = ifMatch === null || ifMatch === '*' ? null : expectedByTag(ifMatch);
  if (tagged === null) return version === undefined ? null : { version };
  if (version === undefined || version === tagged.version) return tagged;
  throw invalidField('expected_version', 'If-Match and expected_version name different versions.');
}

/**
 * A write to a draft, as policy decides it: allowed to all unless an organisation's policy says otherwise
 * (`contract.md` 8).
 */
export interface DraftWrite {
  readonly mailboxId: string;
  readonly action: 'draft_create' | 'draft_reply' | 'draft_edit' | 'draft_discard';
  /** Of the content that would be written or discarded. */
  readonly contentHash: string;
}

/**
 * Admits a write; called once nothing else can be refused. Returns the id of the new draft, or of the claim.
 */
export type Admit = (write: DraftWrite) => Promise<string>;

/**
 * Asks policy, then claims the Idempotency-Key. Throws `policy_denied`, `approval_required` (a draft has no
 * approval of its own), and what claiming a key throws.
 */
export const admittedAs =
  (context: Context, prefix: IdPrefix): Admit =>
  async ({ mailboxId, action }) => {
    const policy = decideActionPolicy(context, mailboxId, [action]);
    authorizeOperation({ mode: 'execute', policy, mayRequest: false });
    return await context.claim(prefix, mailboxId);
  };
