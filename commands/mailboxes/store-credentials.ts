/** PUT /mailboxes/:mailbox_id/credentials: new credentials for the current hosts. */
import { z } from 'zod';
import { defineCapability, Nothing, replayNothing } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { changeMailbox } from './change-mailbox.ts';
import { storeCredentials } from './decide-settings.ts';
import { PasswordAuth } from './mailbox-payload.ts';
import type { Ports } from '../ports/ports.ts';

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  username: PasswordAuth.shape.username.optional().describe('Absent = the one stored.'),
  password: PasswordAuth.shape.password,
});
type Input = z.output<typeof Input>;

export const putCredentials = defineCapability<Input, Nothing>({
  name: 'put_mailbox_credentials',
  title: 'Store credentials',
  summary: 'Stores new credentials of a mailbox; they cannot be read back.',
  description: 'Stores new credentials for the current hosts and reconnects the mailbox.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], mailbox: ({ mailbox_id }) => mailbox_id, steppedUp: true },
  rest: { method: 'put', path: '/mailboxes/:mailbox_id/credentials', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: Input,
  output: Nothing,
  handle: async (input, context) => {
    const { secrets, mail } = context.ports;
    const stored = await secrets.loadMailCredentials(input.mailbox_id);
    const username = input.username ?? stored?.username;
    if (username === undefined) throw noUsername();
    await changeMailbox(context, input.mailbox_id, storeCredentials, () =>
      secrets.saveMailCredentials(input.mailbox_id, { kind: 'password', username, password: input.password }),
    );
    await mail.disconnect(input.mailbox_id);
    return {};
  },
});

const noUsername = (): GatewayError => {
  const message = 'No user name is stored yet; send one.';
  return new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'username', code: 'custom', message }] },
  });
};

/**
 * Erases credentials and open authorization requests, whatever the provider answers. Returns true when the
 * provider revoked the tokens. A renewal under way ends before, so that no token survives.
 */
export async function forgetCredentials(
  { secrets, providerAuthorizations }: Pick<Ports, 'secrets' | 'providerAuthorizations'>,
  mailboxId: string,
): Promise<boolean> {
  await providerAuthorizations.forget(mailboxId);
  let isRevoked = false;
  await secrets.changeMailCredentials(mailboxId, async (stored) => {
    if (stored.kind === 'oauth2' && stored.refreshToken !== null) {
      isRevoked = await providerAuthorizations.revoke(stored.provider, stored.refreshToken);
    }
    return null;
  });
  await secrets.eraseMailCredentials(mailboxId);
  return isRevoked;
}
