/**
 * What the routes of signing in share: the fields, the author of events without a session, and one refusal that does not
 * reveal which accounts exist (`contract.md` 18).
 */
import { GatewayError } from '../values/errors.ts';
import type { Context } from '../kernel/capability.ts';
import { z } from 'zod';
import type { Author } from '../kernel/decide-and-append.ts';
import type { DirectoryState } from '../ports/directory.ts';
import type { LinkPurpose } from '../ports/sign-in-port.ts';
import type { PublicContext } from '../kernel/public-route.ts';
import { memberOfOrg, membershipsOf, restorableBy } from '../kernel/membership.ts';

export const invalidCredentials = (): GatewayError =>
  new GatewayError('invalid_credentials', 'E-mail address or password is wrong.');

/** What to do about a link that is not valid. */
const NEXT_LINK = {
  setup: 'start the gateway again while it has no organisation, and use the link it prints',
  password: 'ask for a new one with POST /auth/password/forgot, or ask your administrator',
  verify: 'ask for a new one with POST /auth/verify/resend',
  invite: 'ask the person who invited you to send the invite again',
} as const satisfies Partial<Record<LinkPurpose, string>>;

/** One answer to every link that is not valid: it does not tell whether the link existed. */
export const invalidLink = (purpose: keyof typeof NEXT_LINK): GatewayError =>
  new GatewayError(
    'invalid_credentials',
    `This link was used already, was replaced by a newer one, has expired or never existed; ${NEXT_LINK[purpose]}.`,
  );

/** Within a session the account is known. */
const wrongPassword = (): GatewayError => new GatewayError('invalid_credentials', 'The password is wrong.');

/**
 * Throws `invalid_credentials`, `rate_limited` or `overloaded`. Attempts are counted per person and separately from sign-ins,
 * so a stranger cannot slow them down.
 */
export async function confirmPassword({ caller, ports }: Context, password: string): Promise<void> {
  const { id } = caller.principal;
  const on = { account: id, source: null };
  const verified = await ports.attempts.attempt(on, () => ports.secrets.verifyPassword(id, password));
  if (verified === null) throw wrongPassword();
}

/** In code points, so that every script counts alike. */
export const MIN_PASSWORD_LENGTH = 15;
const MOST_BYTES = 1_024;

/** Composition is quadratic in a run of marks, so a text over the bound is not composed; it is long enough in any case. */
const lengthOf = (password: string): number =>
  isBounded(password) ? Array.from(password.normalize('NFC')).length : password.length;

const isBounded = (password: string): boolean => Buffer.byteLength(password) <= MOST_BYTES;

export const isLongEnough = (password: string): boolean => lengthOf(password) >= MIN_PASSWORD_LENGTH;

/** A new password. */
export const NewPassword = z
  .string()
  // After an issue that aborts, later rules are not tested.
  .refine(isBounded, { abort: true, error: `A password has at most ${String(MOST_BYTES)} bytes.` })
  .refine((text) => text.isWellFormed(), 'This is not well-formed Unicode.')
  .refine(isLongEnough, `A password needs at least ${String(MIN_PASSWORD_LENGTH)} characters.`)
  .describe(`At least ${String(MIN_PASSWORD_LENGTH)} characters, whatever they are.`);

/** A password to verify: today's rules do not apply to an older one. */
export const GivenPassword = z.string().min(1).max(MOST_BYTES);

/** RFC 5321 4.5.3.1: 64 characters, the @, 255 more. */
const MOST_CHARS = 320;

/** Only detects typing errors; the address may still not exist. */
export const isEmailAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text.trim());

export const NewEmail = z.string().max(MOST_CHARS).refine(isEmailAddress, 'This is not an e-mail address.');

/** An address to find: any text is known or unknown. */
export const GivenEmail = z.string().min(1).max(MOST_CHARS);

export interface Member {
  readonly userId: string;
  readonly orgId: string;
}

/** The person in the organisation they joined first; null without one. */
export function memberOf(state: DirectoryState, userId: string): Member | null {
  const [first] = membershipsOf(state, userId);
  return first === undefined ? null : { userId, orgId: first.orgId };
}

/**
 * Where a person who signs in arrives: the organisation of the latest session, else the one joined first, else one that can be
 * restored; null without one.
 */
export function arrivalOf(state: DirectoryState, userId: string): Member | null {
  const latest = state.personSessions.get(userId)?.sessions.at(-1)?.orgId ?? '';
  const orgId =
    memberOfOrg(state, latest, userId)?.orgId ??
    memberOf(state, userId)?.orgId ??
    restorableBy(state, userId)[0]?.orgId;
  return orgId === undefined ? null : { userId, orgId };
}

/** A person as the author of events, before there is a session. `orgId` is null for a person without an organisation. */
export async function personAuthor(
  { requestId, surface, sealClient }: Pick<PublicContext, 'requestId' | 'surface' | 'sealClient'>,
  { userId, orgId }: { readonly userId: string; readonly orgId: string | null },
  sessionId: string | null = null,
): Promise<Author> {
  return {
    orgId,
    actor: {
      type: 'person',
      id: userId,
      token_id: null,
      session_id: sessionId,
      client: await sealClient(userId),
    },
    surface,
    requestId,
    correlationId: requestId,
    causationId: requestId,
  };
}
