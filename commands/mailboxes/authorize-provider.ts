/**
 * POST and DELETE /mailboxes/:mailbox_id/provider-authorization: tokens of a provider account instead of a
 * password.
 */
import { z } from 'zod';
import { defineCapability, Nothing, replayNothing } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { hostsOf, MAIL_PROVIDERS } from '../ports/mail-logins.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { changeMailbox, entryOf } from './change-mailbox.ts';
import { assertAuthorizable, withdrawAuthorization } from './decide-connection.ts';
import { forgetCredentials } from './store-credentials.ts';
import { mailbox } from './mailbox.ts';

const BeginInput = z.strictObject({ mailbox_id: MailboxIdParameter, provider: z.enum(MAIL_PROVIDERS) });
const EndInput = z.strictObject({ mailbox_id: MailboxIdParameter });

const Begun = z.object({
  authorize_url: z.string().describe('For the browser of the person who owns the account.'),
  expires_at: z.string(),
});
type Begun = z.output<typeof Begun>;

const PATH = '/mailboxes/:mailbox_id/provider-authorization';

export const startProviderAuthorization = defineCapability<z.output<typeof BeginInput>, Begun>({
  name: 'start_provider_authorization',
  title: 'Authorize a provider',
  summary: 'Returns the address at which the owner of the account authorizes the gateway.',
  description:
    'For a mailbox with `auth_type` oauth2: returns the address of the provider at which the owner of the account signs in and agrees. ' +
    'The provider leads back to a page that names the organisation, the mailbox and you; confirming there connects the mailbox. ' +
    'The account must be that of the mailbox. The address can be used once, until `expires_at`.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], mailbox: ({ mailbox_id }) => mailbox_id, steppedUp: true },
  rest: { method: 'post', path: PATH, status: 200 },
  tool: null,
  idempotency: { kind: 'none' },
  input: BeginInput,
  output: Begun,
  handle: async ({ mailbox_id, provider }, context) => {
    const { ports, caller, request } = context;
    const entry = entryOf(context, mailbox_id);
    const { state } = await loadAggregate(ports.events, mailbox, mailbox_id);
    assertAuthorizable(state, provider);
    const { authorizeUrl, expiresAt } = await ports.providerAuthorizations.begin({
      provider,
      orgId: entry.orgId,
      mailboxId: mailbox_id,
      email: entry.email,
      hosts: hostsOf(entry),
      requester: {
        principalId: caller.principal.id,
        tokenId: caller.token.id,
        actor: caller.actor,
        requestId: request.id,
      },
    });
    return { authorize_url: authorizeUrl, expires_at: expiresAt.toISOString() };
  },
});

export const endProviderAuthorization = defineCapability<z.output<typeof EndInput>, Nothing>({
  name: 'end_provider_authorization',
  title: 'Withdraw an authorization',
  summary: 'Revokes the tokens of a mailbox at the provider and erases them.',
  description:
    'Revokes the authorization at the provider, where it supports that, and erases the tokens here either way. The mailbox waits ' +
    'for a new authorization then.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], mailbox: ({ mailbox_id }) => mailbox_id, steppedUp: true },
  rest: { method: 'delete', path: PATH, status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: EndInput,
  output: Nothing,
  handle: async ({ mailbox_id }, context) => {
    const { ports } = context;
    let isRevoked = false;
    await changeMailbox(
      context,
      mailbox_id,
      (state) => withdrawAuthorization(state, isRevoked),
      async () => {
        isRevoked = await forgetCredentials(ports, mailbox_id);
      },
    );
    await ports.mail.disconnect(mailbox_id);
    return {};
  },
});
