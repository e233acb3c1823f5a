/**
 * Mails that anybody may ask for by naming an address (`contract.md` 18). The work, the answer and the limits are the same
 * whether the address has an account or not; whom the mail reaches is found when it is sent.
 */
import { type Author, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import type { PublicContext } from '../kernel/public-route.ts';
import type { Ports } from '../ports/ports.ts';
import { requestMail, systemMail } from '../system-mail/system-mail.ts';
import { GatewayError } from '../values/errors.ts';
import { uuidV5 } from '../values/ids.ts';
import { emailKey } from './account.ts';

/** A repeat within this time is the same request. */
const REPEAT_MS = 5 * 60_000;

type StrangersKind = 'verify_email' | 'password_reset';

/** Throws `rate_limited` for a source that asks too often, never for an address. */
export async function requestStrangersMail(
  context: PublicContext,
  kind: StrangersKind,
  email: string,
): Promise<void> {
  const { ports, source } = context;
  const key = emailKey(ports, email);
  await ports.attempts.attempt({ account: `mail from ${source}`, source: null }, async () => {
    if (await mayNameAgain(ports, `mail ${kind} to ${key}`)) {
      await requestOnce(context, kind, { key, email: email.trim() });
    }
    return {};
  });
}

/**
 * False when an address was named too often. Each time counts like a failed attempt, so the pauses grow; the caller is not told,
 * and nothing more is done.
 */
export async function mayNameAgain({ attempts }: Pick<Ports, 'attempts'>, account: string): Promise<boolean> {
  try {
    await attempts.attempt({ account, source: null }, () => Promise.resolve(null));
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'rate_limited') return false;
    throw error;
  }
}

/** Its id is that of the address in this part of an hour, so of two requests at once the second adds nothing. */
async function requestOnce(
  context: PublicContext,
  kind: StrangersKind,
  { key, email }: { readonly key: string; readonly email: string },
): Promise<void> {
  const { ports } = context;
  const now = ports.clock.now().getTime();
  const part = Math.floor(now / REPEAT_MS);
  const idOf = (number: number): string => uuidV5('mail', kind, key, String(number));
  const { state: earlier } = await loadAggregate(ports.events, systemMail, idOf(part - 1));
  if (earlier.requestedAt !== null && Date.parse(earlier.requestedAt) > now - REPEAT_MS) return;
  const id = idOf(part);
  const to = await ports.personal.seal(id, email);
  await requestMail(ports, strangerAuthor(context), id, { kind, user_id: null, to });
}

const strangerAuthor = ({ ports, requestId, surface }: PublicContext): Author => ({
  ...systemAuthor(ports, null),
  surface,
  requestId,
  correlationId: requestId,
  causationId: requestId,
});
