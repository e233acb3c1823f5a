/** Every capability with an input for its gate; several where the input decides which scopes are needed. */
import type { Capability } from '../../../commands/kernel/capability.ts';
import { z } from 'zod';
import { capabilities } from '../../../read-api/capabilities.ts';
import type { AuthorizationWorld } from './authorization-world.ts';

export type Place = keyof AuthorizationWorld['mailboxes'];
const PLACES: readonly Place[] = ['granted', 'ungranted', 'foreign', 'unknown'];

export interface Call {
  /** The capability, and what its input wants where that decides. */
  readonly name: string;
  readonly capability: Capability;
  /** Null for a capability that names no mailbox. */
  readonly place: Place | null;
  readonly input: unknown;
}

const DRAFT = { draft_id: 'drf_1' };
const act = (operation: object, mode?: string): object => ({
  operation,
  ...(mode && { authorization: { mode } }),
});
const actions = (type: string) => ({
  type: 'message_actions',
  select: { message_ids: ['msg_1'] },
  actions: [{ type }],
});
const IDS = ['x'];

/** Inputs by what they want; without `mailbox_id`, which every place adds. */
const SAMPLES: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  export_audit: { texts: {}, 'every text': { disclose: 'all' } },
  get_approval_evidence: {
    seen: { approval_id: 'chk_1' },
    'every text': { approval_id: 'chk_1', disclose: 'all', reason: 'A dispute.' },
  },
  email_query: {
    messages: { select: {} },
    bodies: { select: {}, include_body: 'preview' },
    folders: { select: { type: 'folders' } },
    drafts: { select: { type: 'drafts' } },
    attachment: { select: { type: 'attachment', attachment_id: 'att_1' } },
  },
  email_act: {
    archive: act(actions('archive')),
    'archive on request': act(actions('archive'), 'request_approval'),
    expunge: act(actions('expunge')),
    'archive by filter': act({ ...actions('archive'), select: { folder: 'inbox', filter: {} } }),
    'create a draft': act({ type: 'draft_create', draft: {} }),
    'send a draft': act({ type: 'draft_send', ...DRAFT }),
    'discard a draft': act({ type: 'draft_discard', ...DRAFT }),
  },
  email_await: {
    messages: { for: 'message' },
    approval: { for: 'approval', approval_ids: IDS },
    operation: { for: 'operation', operation_ids: IDS },
    delivery: { for: 'delivery', delivery_ids: IDS },
  },
  email_requests: {
    list: { action: 'list' },
    cancel: { action: 'cancel', approval_id: 'x' },
    commit: { action: 'commit', approval_id: 'x', content_hash: 'x' },
  },
  list_messages: { summaries: {}, bodies: { include_body: 'preview' } },
  get_message: { body: { message_id: 'msg_1' } },
  start_draft: { empty: {}, forward: { forward_of: 'msg_1' } },
  reply_to_thread: { text: { message_id: 'msg_1', text: 'Yes' } },
  update_mailbox: {
    'its name': { display_name: 'Box' },
    'trusted servers': { trusted_authserv_ids: ['mx.example.com'] },
  },
  update_organisation: { 'its name': { name: 'Other' }, restore: { restore: true } },
  update_agent: {
    'its name': { agent_id: 'agt_1', name: 'Other' },
    owner: { agent_id: 'agt_1', owner_id: 'usr_1' },
  },
  create_invite: {
    alone: { email: 'new@example.net', role: 'member' },
    'with grants': {
      email: 'new@example.net',
      role: 'member',
      mailbox_grants: [{ mailbox_id: 'mbx_1', preset: 'reader' }],
    },
  },
};

/** Scopes that depend on the input: a function that reads it. */
const readsInput = ({ access }: Capability): boolean =>
  typeof access !== 'string' &&
  ((access.needs !== undefined && access.needs.length > 0) ||
    (typeof access.steppedUp === 'function' && access.steppedUp.length > 0));

/** What the gate does not read is not asked for. */
const anyInput = (capability: Capability): Capability => ({ ...capability, input: z.unknown() });

function callsOf(capability: Capability, { mailboxes }: AuthorizationWorld): readonly Call[] {
  const { name, access } = capability;
  const places = typeof access !== 'string' && access.mailbox ? PLACES : [null];
  const samples = SAMPLES[name];
  if (samples === undefined && readsInput(capability)) throw new Error(`${name} needs a sample of its input`);
  return places.flatMap((place) => {
    const at = place && { mailbox_id: mailboxes[place] };
    if (samples === undefined) return [{ name, capability: anyInput(capability), place, input: { ...at } }];
    return Object.entries(samples).map(([wish, sample]) => ({
      name: `${name}, ${wish}`,
      capability,
      place,
      input: { ...sample, ...at },
    }));
  });
}

/** In the order of their names. Throws when a capability whose scopes depend on its input has no sample. */
export const everyCall = (world: AuthorizationWorld): readonly Call[] =>
  capabilities
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((capability) => callsOf(capability, world));
