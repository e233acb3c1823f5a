/** Scope checks of one call: what is missing is named, what must not be seen does not exist. */
import { type Caller, managesEveryMailbox } from './access.ts';
import type { Access, Capability } from './capability.ts';
import type { DirectoryState } from './directory.ts';
import { GatewayError, notFound } from './errors.ts';
import { isMailboxScope, type Scope } from './scopes.ts';

const lacks = (required: readonly Scope[]): GatewayError =>
  new GatewayError('insufficient_scope', `This token lacks the scope ${required.join(' or ')}.`, {
    details: { required },
  });

/** True when the caller holds what makes the capability visible: its tool is listed, its route is his. */
export const mayCall = (caller: Caller, capability: Pick<Capability, 'access'>): boolean =>
  capability.access === 'any-token' || capability.access.any.some((scope) => caller.scopes.has(scope));

/**
 * Throws `insufficient_scope` before the input is even read. Where a mailbox decides, only the token's own scopes can tell
 * this early: an unseen mailbox must answer `not_found`, whatever the caller's grants on others are.
 */
export function requireAny(caller: Caller, { access }: Pick<Capability, 'access'>): void {
  if (access === 'any-token') return;
  const held = access.mailbox ? new Set(caller.token.scopes) : caller.scopes;
  if (!access.any.some((scope) => held.has(scope))) throw lacks(access.any);
}

/**
 * All scopes this input needs. A mailbox of another organisation, or a mail route of a mailbox without a grant, is
 * `not_found` like an unknown id; a grant without the verb is `insufficient_scope`.
 */
export function authorise(
  caller: Caller,
  state: DirectoryState,
  capability: Pick<Capability, 'access'>,
  input: unknown,
): void {
  const access = capability.access as Access<unknown> | 'any-token';
  if (access === 'any-token') return;
  const mailboxId = access.mailbox?.(input);
  const held = mailboxId === undefined ? caller.scopes : scopesOn(caller, state, access, mailboxId);
  if (!access.any.some((scope) => held.has(scope))) throw lacks(access.any);
  const missing = (access.needs?.(input) ?? []).filter((scope) => !held.has(scope));
  if (missing.length > 0) throw lacks(missing);
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
