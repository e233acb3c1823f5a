/** Login with an access token that may have expired early: it is renewed once, then the refusal counts. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { MailLogin } from '../../commands/ports/mail-port.ts';
import { SubmissionFailure } from '../../commands/ports/submission-port.ts';

/** Settings of a mailbox by its id; `refused` is the login that the server just rejected. */
export type LoadSettings<Settings extends { readonly login: MailLogin }> = (
  mailboxId: string,
  refused?: MailLogin,
) => Promise<Settings>;

/** Runs `attempt` with the mailbox's settings; once more when the server rejects an access token. Throws as both do. */
export async function withRenewedLogin<Settings extends { readonly login: MailLogin }, T>(
  mailboxId: string,
  load: LoadSettings<Settings>,
  attempt: (settings: Settings) => Promise<T>,
): Promise<T> {
  const settings = await load(mailboxId);
  try {
    return await attempt(settings);
  } catch (error) {
    if (settings.login.kind !== 'oauth2' || codeOf(error) !== 'mailbox_auth_failed') throw error;
    return await attempt(await load(mailboxId, settings.login));
  }
}

const codeOf = (error: unknown): string | null => {
  if (error instanceof SubmissionFailure) return error.facts.code;
  return error instanceof GatewayError ? error.code : null;
};
