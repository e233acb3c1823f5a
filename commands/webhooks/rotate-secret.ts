/** POST /webhook-endpoints/:endpoint_id/rotate-secret, and the making of a secret. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { rotateSecret } from './decide-endpoint.ts';
import { webhookEndpoint } from './endpoint.ts';
import { describeEndpoint, EndpointId, endpointOf, personOf } from './endpoint-payload.ts';

const HINT_CHARACTERS = 4;

/** Stores a secret; the event that names it comes after. */
export async function newSecret({ caller, ports }: Context, endpointId: string) {
  const { id, secret } = await ports.webhookSecrets.create(endpointId);
  const hint = await ports.personal.seal(personOf(caller), secret.slice(-HINT_CHARACTERS));
  return { secretId: id, secretHint: hint, secret };
}

const DAY_SECONDS = 86_400;

const RotateInput = z.strictObject({
  endpoint_id: EndpointId,
  overlap_seconds: z
    .int()
    .min(0)
    .max(7 * DAY_SECONDS)
    .optional()
    .describe('How long the previous secret signs too: a day by default, a week at most.'),
});
const RotatedSecret = z.object({
  secret: z.string().optional().describe('The new secret; shown once.'),
  secret_shown: z.boolean(),
  previous_secret_expires_at: z.string().nullable(),
});
type RotatedSecret = z.output<typeof RotatedSecret>;

export const rotateWebhookSecret = defineCapability<z.output<typeof RotateInput>, RotatedSecret>({
  name: 'rotate_webhook_secret',
  title: 'Rotate the secret of a webhook endpoint',
  summary: 'Gives an endpoint a new secret; the previous one signs for an overlap.',
  description:
    'The new secret is shown once, in this answer. Until the overlap ends every payload carries a signature of each secret, so ' +
    'the receiver can change without losing one. At most three secrets sign at once.',
  effect: 'write',
  access: { any: ['webhooks:manage'], steppedUp: true },
  rest: { method: 'post', path: '/webhook-endpoints/:endpoint_id/rotate-secret' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { endpoint_id }, context, settled) => {
      if (!settled) return null;
      const shown = await describeEndpoint(
        context.ports,
        endpoint_id,
        await endpointOf(context, endpoint_id),
        null,
      );
      return { secret_shown: false, previous_secret_expires_at: shown.previous_secret_expires_at };
    },
  },
  input: RotateInput,
  output: RotatedSecret,
  handle: async ({ endpoint_id: id, overlap_seconds = DAY_SECONDS }, context) => {
    const { ports, writer, author } = context;
    await endpointOf(context, id);
    await context.claim('req');
    const { secret, ...made } = await newSecret(context, id);
    const { position, state } = await decideAndAppend(writer, author, webhookEndpoint, {
      id,
      decide: (current, now) =>
        rotateSecret(current, {
          ...made,
          now,
          previousExpiresAt: new Date(now.getTime() + overlap_seconds * 1_000).toISOString(),
        }),
    });
    context.notePosition(position);
    const { previous_secret_expires_at } = await describeEndpoint(ports, id, state, null);
    return { secret, secret_shown: true, previous_secret_expires_at };
  },
});
