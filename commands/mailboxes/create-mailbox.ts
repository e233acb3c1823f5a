/** POST /mailboxes: adds a mailbox, which is then connected in the background. */
import { z } from 'zod';
import { answerWhenKnown } from '../kernel/await-directory.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { entryOf } from './change-mailbox.ts';
import { addMailbox } from './decide-settings.ts';
import { mailbox } from './mailbox.ts';
import { reserveMailboxNumber } from './mailbox-number.ts';
import {
  Auth,
  describeMailbox,
  DisplayName,
  HostSettingsField,
  Mailbox,
  passwordOf,
} from './mailbox-payload.ts';

const Input = z.strictObject({
  email: z
    .string()
    .max(320)
    .regex(/^[^\s@]+@[^\s@]+$/, 'An e-mail address.'),
  display_name: DisplayName.optional(),
  imap: HostSettingsField,
  smtp: HostSettingsField,
  auth: Auth,
});
type Input = z.output<typeof Input>;

export const createMailbox = defineCapability<Input, Mailbox>({
  name: 'create_mailbox',
  title: 'Add a mailbox',
  summary: 'Adds a mailbox and gives its creator every mailbox scope on it.',
  description:
    'Adds a mailbox with its IMAP and SMTP hosts and credentials. It is connected in the background: watch `state`. One that ' +
    'logs in with a provider waits until it is authorized. The caller gets a grant of every mailbox scope on it.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], steppedUp: true },
  rest: {
    method: 'post',
    path: '/mailboxes',
    status: 201,
    location: ({ id }) => `/mailboxes/${id}`,
  },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, { ports }) => {
      const entry = ports.directory.state.mailboxes.get(targetId);
      return entry ? await describeMailbox(ports, entry) : null;
    },
  },
  input: Input,
  output: Mailbox,
  etag: ({ version }) => String(version),
  handle: async (input, context) => {
    const { ports, caller } = context;
    if (caller.token.mailboxIds !== null) {
      throw new GatewayError('insufficient_scope', 'A token bound to certain mailboxes cannot add others.', {
        details: { required: ['mailboxes:manage'] },
      });
    }
    if (input.auth.type === 'oauth2') ports.providerAuthorizations.requireRegistered(input.auth.provider);
    await ports.mail.assertReachable(input.imap);
    await ports.mail.assertReachable(input.smtp);
    const mailboxId = await context.claim('mbx');
    await add(context, mailboxId, input);
    return await describeMailbox(ports, entryOf(context, mailboxId));
  },
});

async function add(context: Context, mailboxId: string, input: Input): Promise<void> {
  const { ports, caller, author, writer } = context;
  const number = await reserveMailboxNumber(ports, author, mailboxId);
  const email = await ports.personal.seal(mailboxId, input.email);
  const displayName =
    input.display_name === undefined ? null : await ports.personal.seal(mailboxId, input.display_name);
  const { auth, imap, smtp } = input;
  if (auth.type === 'password') await ports.secrets.saveMailCredentials(mailboxId, passwordOf(auth));
  const creator = { id: caller.principal.id, kind: caller.principal.kind, grantId: ports.ids.newId('grt') };
  const { position } = await decideAndAppend(writer, author, mailbox, {
    id: mailboxId,
    decide: (state) => addMailbox(state, { number, email, displayName, imap, smtp, auth, creator }),
  });
  await answerWhenKnown(context, position);
}
