/** Scope checks of one call: a missing scope is named; an object that the caller may not see does not exist. */
import { type Caller, managesEveryMailbox } from './access.ts';
import type { Access, AccessForAll, Capability } from './capability.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { isMailboxScope, ROLE_SCOPES, type Scope, SESSION_ONLY_SCOPES } from '../values/scopes.ts';
import { requireSession, stepUpRequired } from './live-caller.ts';
import { WITHHELD_UNVERIFIED } from './membership.ts';

/**
 * The refusal for missing scopes; `step_up_required` for a session that only has to confirm its password,
 * `email_unverified` for what a verified address would allow.
 */
export const lacks = (
  caller: Caller,
  required: readonly Scope[],
  which: 'any' | 'all' = 'any',
): GatewayError => {
  const { session, role } = caller;
  if (required.some((scope) => awaitsVerification(caller, scope))) return emailUnverified();
  const ofRole: readonly Scope[] = session === null || role === null ? [] : ROLE_SCOPES[role];
  if (required.some((scope) => SESSION_ONLY_SCOPES.includes(scope) && ofRole.includes(scope))) {
    return stepUpRequired();
  }
  return insufficientScope(required, which);
};

/** True for a scope that the caller would have, were the address verified. */
function awaitsVerification({ session, role, token, isVerified }: Caller, scope: Scope): boolean {
  if (isVerified || !WITHHELD_UNVERIFIED.has(scope)) return false;
  if (isMailboxScope(scope)) return token.scopes.includes(scope);
  if (role === null || !ROLE_SCOPES[role].includes(scope)) return false;
  return session !== null || (token.scopes.includes(scope) && !SESSION_ONLY_SCOPES.includes(scope));
}

export const emailUnverified = (): GatewayError =>
  new GatewayError(
    'email_unverified',
    'Verify the e-mail address of this account first: use the link that was mailed to it, or ask for another with POST /auth/verify/resend.',
  );

/** `details.match`: whether one of several scopes is enough. */
export function insufficientScope(required: readonly Scope[], which: 'any' | 'all'): GatewayError {
  const named = required.join(which === 'any' ? ' or ' : ' and ');
  const scopes = which === 'all' && required.length > 1 ? 'scopes' : 'scope';
  return new GatewayError('insufficient_scope', `This token lacks the ${scopes} ${named}.`, {
    details: { required, ...(required.length > 1 ? { match: which } : {}) },
  });
}

/** True for a capability that only a signed-in person may use. */
export const needsSession = ({ access }: Pick<Capability, 'access'>): boolean =>
  typeof access === 'string' ? access !== 'any-token' : access.inSession === true;

/** True when the capability is visible to the caller: its tool is listed, its route can be called. */
export const mayCall = (caller: Caller, capability: Pick<Capability, 'access'>): boolean =>
  (caller.session !== null || !needsSession(capability)) &&
  (typeof capability.access === 'string' || capability.access.any.some((scope) => caller.scopes.has(scope)));

/**
 * Throws `insufficient_scope` or `step_up_required` before the input is read; `needed` lists the scopes that the refusal
 * names. Where a mailbox decides, only the token's own scopes are tested this early: an invisible mailbox must answer
 * `not_found`, whatever grants the caller has on others.
 */
export function requireAny(
  caller: Caller,
  capability: Pick<Capability, 'access'>,
  needed: () => readonly Scope[] = () => [],
): void {
  const { access } = capability;
  if (needsSession(capability)) requireSession(caller);
  if (typeof access === 'string' || isFree(caller, access)) return;
  const held = access.mailbox ? new Set(caller.token.scopes) : caller.scopes;
  if (access.any.some((scope) => held.has(scope))) return;
  const missing = needed().filter((scope) => !held.has(scope));
  throw missing.length > 0 ? lacks(caller, missing, 'all') : lacks(caller, access.any);
}

/** The scopes that a readable input needs; none for other input. */
export function neededScopes(
  { access, input: schema }: Pick<Capability, 'access' | 'input'>,
  input: unknown,
): readonly Scope[] {
  if (typeof access === 'string' || access.needs === undefined) return [];
  const parsed = schema.safeParse(input);
  return parsed.success ? access.needs(parsed.data) : [];
}

const isFree = ({ session }: Caller, { freeInSession }: Pick<Access<unknown>, 'freeInSession'>): boolean =>
  freeInSession === true && session !== null;

/**
 * All scopes this input needs. A mailbox of another organisation, or a mail route of a mailbox without a grant, is
 * `not_found` like an unknown id; a grant without the verb is `insufficient_scope`.
 */
export function authorize(
  caller: Caller,
  state: DirectoryState,
  capability: Pick<Capability, 'access'>,
  input: unknown,
): void {
  const access = capability.access as Access<unknown> | AccessForAll;
  if (typeof access === 'string' || isFree(caller, access)) return;
  const mailboxId = access.mailbox?.(input);
  const held = mailboxId === undefined ? caller.scopes : scopesOn(caller, state, access, mailboxId);
  const missing = (access.needs?.(input) ?? []).filter((scope) => !held.has(scope));
  if (missing.length > 0) throw lacks(caller, missing, 'all');
  if (!access.any.some((scope) => held.has(scope))) throw lacks(caller, access.any);
}

/** True when this input requires a fresh password of a session. Tested last, so that no caller confirms it in vain. */
export function wantsFreshPassword({ access }: Pick<Capability, 'access'>, input: unknown): boolean {
  if (typeof access === 'string') return access === 'stepped-up-session';
  const { steppedUp } = access as Access<unknown>;
  return typeof steppedUp === 'function' ? steppedUp(input) : steppedUp === true;
}

function scopesOn(
  caller: Caller,
  state: DirectoryState,
  access: Access<unknown>,
  mailboxId: string,
): ReadonlySet<Scope> {
  const granted = caller.mailboxes.get(mailboxId);
  if (granted) return new Set([...granted.scopes, ...caller.orgScopes]);
  const exists = state.mailboxes.get(mailboxId)?.orgId === caller.org.id;
  const administrative = access.any.every((scope) => !isMailboxScope(scope));
  if (exists && administrative && managesEveryMailbox(caller)) return caller.orgScopes;
  throw notFound('mailbox');
}
