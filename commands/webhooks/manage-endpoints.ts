/** POST, PATCH and DELETE of webhook endpoints, and the rotation of their secret. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { WebhookSecrets } from '../ports/webhook-port.ts';
import { Nothing, replayNothing } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import {
  assertVersion,
  changeEndpoint,
  createEndpoint,
  type EndpointSettings,
  removeEndpoint,
} from './decide-endpoint.ts';
import { type EndpointState, webhookEndpoint } from './endpoint.ts';
import {
  describeEndpoint,
  endpointEtag,
  endpointFields,
  EndpointId,
  endpointOf,
  mailboxesWithin,
  personOf,
  WebhookEndpoint,
} from './endpoint-payload.ts';
import { newSecret } from './rotate-secret.ts';

/** More would make every event of the organisation slow to queue. */
const MOST_ENDPOINTS = 100;

const access = { any: ['webhooks:manage'], steppedUp: true } as const;

const CreateInput = z.strictObject({
  url: endpointFields.url,
  event_types: endpointFields.event_types,
  mailbox_ids: endpointFields.mailbox_ids.optional().describe('Absent = no event of a mailbox is sent.'),
  payload: endpointFields.payload.optional().describe('thin by default.'),
  description: endpointFields.description.optional(),
});
const CreatedEndpoint = WebhookEndpoint.extend({
  secret: z.string().optional().describe('Signs the payloads (Standard Webhooks); shown once.'),
  secret_shown: z.boolean(),
});
type CreatedEndpoint = z.output<typeof CreatedEndpoint>;

export const createWebhookEndpoint = defineCapability<z.output<typeof CreateInput>, CreatedEndpoint>({
  name: 'create_webhook_endpoint',
  title: 'Create a webhook endpoint',
  summary: 'Creates an endpoint to which events of the organisation are sent.',
  description:
    'Events from now on are sent to the URL by POST, signed as Standard Webhooks says, at least once each. The secret is shown ' +
    'once, in this answer. What you may not see when a payload is sent is withheld from it. An organisation has at most ' +
    `${String(MOST_ENDPOINTS)} endpoints.`,
  effect: 'write',
  access,
  rest: {
    method: 'post',
    path: '/webhook-endpoints',
    status: 201,
    location: ({ id }) => `/webhook-endpoints/${id}`,
  },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, { ports }) => {
      const { state } = await loadAggregate(ports.events, webhookEndpoint, targetId);
      return state.version === 0
        ? null
        : { ...(await described(ports, targetId, state)), secret_shown: false };
    },
  },
  input: CreateInput,
  output: CreatedEndpoint,
  etag: endpointEtag,
  handle: async (input, context) => {
    const { caller, ports, writer, author } = context;
    const { url, description = null, payload = 'thin', event_types: eventTypes, mailbox_ids = [] } = input;
    const mailboxIds = mailboxesWithin(caller, mailbox_ids);
    await ports.webhookSender.vet(url);
    if ((await ports.webhookRecords.countEndpoints(caller.org.id)) >= MOST_ENDPOINTS) throw tooMany();
    const by = personOf(caller);
    const sealed = (text: string) => ports.personal.seal(by, text);
    const settings: EndpointSettings = {
      url: await sealed(url),
      description: description === null ? null : await sealed(description),
      eventTypes,
      mailboxIds,
      payload,
    };
    const id = await context.claim('whk');
    const { secret, ...made } = await newSecret(context, id);
    const { state, appended, position } = await decideAndAppend(writer, author, webhookEndpoint, {
      id,
      decide: (current) => createEndpoint(current, settings, { by, ...made }),
    });
    context.notePosition(position);
    // An earlier request with this key, long interrupted, may just have made it: with another secret.
    const shown = appended === null ? { secret_shown: false } : { secret, secret_shown: true };
    return { ...(await described(ports, id, state)), ...shown };
  },
});

const tooMany = (): GatewayError =>
  new GatewayError(
    'conflict',
    `This organisation has ${String(MOST_ENDPOINTS)} webhook endpoints, which is the most; delete one first.`,
  );

const described = async (
  ports: Context['ports'],
  id: string,
  state: EndpointState,
): Promise<WebhookEndpoint> =>
  await describeEndpoint(ports, id, state, await ports.webhookRecords.health(id));

const UpdateInput = z.strictObject({
  endpoint_id: EndpointId,
  ...z.object(endpointFields).partial().shape,
  status: z
    .enum(['active', 'paused'])
    .optional()
    .describe('active also enables a disabled endpoint again; what was cancelled stays cancelled.'),
});

export const updateWebhookEndpoint = defineCapability<z.output<typeof UpdateInput>, WebhookEndpoint>({
  name: 'update_webhook_endpoint',
  title: 'Change a webhook endpoint',
  summary: 'Changes, pauses or resumes a webhook endpoint.',
  description:
    'Changes the fields that are sent; others stay. While an endpoint is paused its events are queued, for 30 days at most. ' +
    'After a change of anything but description and status, your rights decide what may be delivered: you must be able to ' +
    'read all its mailboxes.',
  effect: 'write',
  access,
  rest: { method: 'patch', path: '/webhook-endpoints/:endpoint_id' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { endpoint_id }, context, settled) =>
      settled ? await described(context.ports, endpoint_id, await endpointOf(context, endpoint_id)) : null,
  },
  input: UpdateInput,
  output: WebhookEndpoint,
  etag: endpointEtag,
  ifMatch: true,
  handle: async (input, context) => {
    const { caller, ports, request, writer, author } = context;
    const { endpoint_id: id, status } = input;
    const before = await endpointOf(context, id);
    const by = personOf(caller);
    const settings = await changedSettings(context, before, input);
    const decide = (state: EndpointState) => {
      assertVersion(state, request.ifMatch);
      return changeEndpoint(state, { settings, status, by });
    };
    decide(before);
    await context.claim('req');
    const { state, position } = await decideAndAppend(writer, author, webhookEndpoint, { id, decide });
    context.notePosition(position);
    return await described(ports, id, state);
  },
});

/**
 * The settings that differ from the present ones. A caller who changes what is sent, or where to, must be able to read all of
 * it. Throws as `mailboxesWithin` and `vet`.
 */
async function changedSettings(
  { caller, ports }: Context,
  before: EndpointState,
  { url, description, event_types, mailbox_ids, payload }: z.output<typeof UpdateInput>,
): Promise<Partial<EndpointSettings>> {
  const changed = await changedTexts(ports, personOf(caller), before, { url, description });
  const what = { ...(event_types && { eventTypes: event_types }), ...(payload && { payload }) };
  if (changed.url === undefined && mailbox_ids === undefined && Object.keys(what).length === 0)
    return changed;
  const mailboxIds = mailboxesWithin(caller, mailbox_ids ?? before.mailboxIds);
  if (changed.url !== undefined && url !== undefined) await ports.webhookSender.vet(url);
  return { ...changed, ...what, ...(mailbox_ids && { mailboxIds }) };
}

/** An unchanged text is no change, although each sealing of it differs. */
async function changedTexts(
  { personal }: Context['ports'],
  by: string,
  before: EndpointState,
  {
    url,
    description,
  }: { readonly url?: string | undefined; readonly description?: string | null | undefined },
): Promise<Partial<Pick<EndpointSettings, 'url' | 'description'>>> {
  const isNew = async (text: string | null | undefined, sealed: EndpointState['url']): Promise<boolean> =>
    text !== undefined && text !== (sealed === null ? null : await personal.open(sealed));
  const newUrl = url !== undefined && (await isNew(url, before.url)) ? url : null;
  return {
    ...(newUrl !== null && { url: await personal.seal(by, newUrl) }),
    ...((await isNew(description, before.description)) && {
      description: description ? await personal.seal(by, description) : null,
    }),
  };
}

const DeleteInput = z.strictObject({ endpoint_id: EndpointId });

export const deleteWebhookEndpoint = defineCapability<z.output<typeof DeleteInput>, Nothing>({
  name: 'delete_webhook_endpoint',
  title: 'Delete a webhook endpoint',
  summary: 'Deletes a webhook endpoint; what is queued for it is cancelled.',
  description: 'Deletes an endpoint permanently and erases its secrets. Its deliveries stay listed.',
  effect: 'write',
  access,
  rest: { method: 'delete', path: '/webhook-endpoints/:endpoint_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: DeleteInput,
  output: Nothing,
  ifMatch: true,
  handle: async ({ endpoint_id: id }, context) => {
    const { ports, request, writer, author } = context;
    assertVersion(await endpointOf(context, id), request.ifMatch);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, webhookEndpoint, {
      id,
      decide: (state) => {
        assertVersion(state, request.ifMatch);
        return removeEndpoint(state);
      },
    });
    context.notePosition(position);
    await eraseSecrets(ports, id);
    return {};
  },
});

/** A failure leaves secrets that sign nothing; they are erased a week later. */
async function eraseSecrets(
  { webhookSecrets, log }: { readonly webhookSecrets: WebhookSecrets; readonly log: Context['ports']['log'] },
  endpointId: string,
): Promise<void> {
  await webhookSecrets.erase(endpointId).catch((error: unknown) => {
    log.warn('webhooks: secrets not erased', { endpoint_id: endpointId, error: String(error) });
  });
}
