/** POST, PATCH and DELETE of grants: who may use a mailbox, and with which terms. */
import { z } from 'zod';
import {
  answerWhenKnown,
  type Context,
  defineCapability,
  Nothing,
  replayNothing,
} from '../kernel/capability.ts';
import { foldStored, loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import { folderRole } from '../values/event-fields.ts';
import { notFound } from '../values/errors.ts';
import { futureInstant, InstantField } from '../values/input-fields.ts';
import { GrantQuotas } from '../kernel/grant-quotas.ts';
import {
  chosenScopes,
  MAILBOX_SCOPES,
  type MailboxScope,
  type Preset,
  PresetField,
} from '../values/scopes.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { isSteppedUp } from '../kernel/live-caller.ts';
import { changeMailbox } from './change-mailbox.ts';
import { assertMayGive, changeGrant, giveGrant, type Giver, revokeGrant } from './decide-grants.ts';
import { type GrantTerms, type HeldGrant, mailbox, type MailboxRecord } from './mailbox.ts';
import { memberOfOrg } from '../kernel/membership.ts';

export const Grant = z.object({
  id: z.string(),
  mailbox_id: z.string(),
  principal: z.object({ id: z.string(), kind: z.enum(['user', 'agent']) }),
  scopes: z.array(z.string()),
  folder_roles: z.array(folderRole).nullable().describe('Null = every folder.'),
  expires_at: z.string().nullable(),
  quotas: z.record(z.string(), z.number()).nullable().describe('Null = no limit but those of the gateway.'),
  created_at: z.string(),
  created_by: z.string(),
});
export type Grant = z.output<typeof Grant>;

/** The grant from the mailbox's stream. */
export const describeGrant = (mailboxId: string, grant: HeldGrant): Grant => ({
  id: grant.id,
  mailbox_id: mailboxId,
  principal: { id: grant.principalId, kind: grant.principalKind },
  scopes: [...grant.scopes],
  folder_roles: grant.folderRoles && [...grant.folderRoles],
  expires_at: grant.expiresAt,
  quotas: grant.quotas && { ...grant.quotas },
  created_at: grant.createdAt,
  created_by: grant.createdBy,
});

const PrincipalId = z.string().min(1).max(64).describe('A member (usr_) or an agent (agt_).');
const termsFields = {
  scopes: z.array(z.enum(MAILBOX_SCOPES)).min(1).max(MAILBOX_SCOPES.length).optional(),
  preset: PresetField,
  folder_roles: z
    .array(folderRole)
    .min(1)
    .nullable()
    .optional()
    .describe('Source and destination must have one of these roles.'),
  expires_at: InstantField.nullable().optional(),
  quotas: GrantQuotas.nullable().optional().describe('Null = no limit but those of the gateway.'),
};
const Path = { mailbox_id: MailboxIdParameter, grant_id: z.string().min(1).max(64) };

const GiveInput = z.strictObject({
  mailbox_id: MailboxIdParameter,
  principal_id: PrincipalId,
  ...termsFields,
});
const ChangeInput = z.strictObject({ ...Path, ...termsFields });
const RevokeInput = z.strictObject(Path);

const access = {
  any: ['mailboxes:grants'],
  mailbox: ({ mailbox_id }: { readonly mailbox_id: string }) => mailbox_id,
} as const;

export const createGrant = defineCapability<z.output<typeof GiveInput>, Grant>({
  name: 'create_grant',
  title: 'Give a grant',
  summary: 'Gives a member or an agent scopes on a mailbox.',
  description:
    'Gives a principal scopes on this mailbox; one grant per principal. A token cannot give more than your own grant there, a ' +
    'session only with a fresh password, and ' +
    "an agent never gets further than its owner's grant reaches.",
  effect: 'write',
  access,
  rest: { method: 'post', path: '/mailboxes/:mailbox_id/grants', status: 201 },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, { mailbox_id }, context) => {
      const stored = await context.ports.events.readStream(streamOf(mailbox, mailbox_id));
      const isGiven = stored.some(({ type, data }) => type === 'GrantGiven' && data['grant_id'] === targetId);
      if (!isGiven) return null;
      const { state, position } = foldStored(mailbox, stored);
      await answerWhenKnown(context, position);
      return describeGrant(mailbox_id, grantIn(state, targetId));
    },
  },
  input: GiveInput,
  output: Grant,
  handle: async (input, context) => {
    const { mailbox_id: mailboxId } = input;
    const principal = principalOf(context, input.principal_id);
    const giver = giverOf(context);
    const { state } = await loadAggregate(context.ports.events, mailbox, mailboxId);
    const terms: GrantTerms = {
      scopes: chosenBy(state, giver, input),
      folderRoles: input.folder_roles ?? null,
      expiresAt: expiryOf(input.expires_at, giver) ?? null,
      quotas: input.quotas ?? null,
    };
    assertMayGive(state, giver, { principal, terms });
    const grantId = await context.claim('grt');
    const after = await changeMailbox(context, mailboxId, (current) =>
      giveGrant(current, giver, { grantId, principal, terms }),
    );
    return describeGrant(mailboxId, grantIn(after, grantId));
  },
});

export const updateGrant = defineCapability<z.output<typeof ChangeInput>, Grant>({
  name: 'update_grant',
  title: 'Change a grant',
  summary: 'Changes scopes, folder roles, end or quotas of a grant.',
  description:
    'Changes the terms that are sent; others stay. Wider only within your own grant on this mailbox, or in a session with a ' +
    'fresh password.',
  effect: 'write',
  access,
  rest: { method: 'patch', path: '/mailboxes/:mailbox_id/grants/:grant_id' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { mailbox_id, grant_id }, { ports }, settled) => {
      const { state } = await loadAggregate(ports.events, mailbox, mailbox_id);
      return settled ? describeGrant(mailbox_id, grantIn(state, grant_id)) : null;
    },
  },
  input: ChangeInput,
  output: Grant,
  handle: async (input, context) => {
    const { mailbox_id: mailboxId, grant_id: grantId } = input;
    const giver = giverOf(context);
    const { state } = await loadAggregate(context.ports.events, mailbox, mailboxId);
    const grant = grantIn(state, grantId);
    const named = input.scopes !== undefined || input.preset !== undefined;
    const expiresAt = expiryOf(input.expires_at, giver);
    const change: Partial<GrantTerms> = {
      ...(named && { scopes: chosenBy(state, giver, input, grant) }),
      ...(input.folder_roles !== undefined && { folderRoles: input.folder_roles }),
      ...(expiresAt !== undefined && { expiresAt }),
      ...(input.quotas !== undefined && { quotas: input.quotas }),
    };
    const after = await changeMailbox(context, mailboxId, (current) =>
      changeGrant(current, giver, { grantId, change }),
    );
    return describeGrant(mailboxId, grantIn(after, grantId));
  },
});

export const deleteGrant = defineCapability<z.output<typeof RevokeInput>, Nothing>({
  name: 'delete_grant',
  title: 'Revoke a grant',
  summary: 'Revokes a grant; later requests of its principal are refused.',
  description: 'Revokes a grant at once, for every token of the principal.',
  effect: 'write',
  access,
  rest: { method: 'delete', path: '/mailboxes/:mailbox_id/grants/:grant_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: RevokeInput,
  output: Nothing,
  handle: async ({ mailbox_id, grant_id }, context) => {
    await changeMailbox(context, mailbox_id, (state) => revokeGrant(state, grant_id));
    return {};
  },
});

function giverOf({ caller, ports }: Context): Giver {
  const giver = { principalId: caller.principal.id, now: ports.clock.now() };
  if (caller.session === null) return giver;
  return { ...giver, wider: isSteppedUp(caller, giver.now) ? 'allowed' : 'after-step-up' };
}

/** A member or an agent of the caller's organisation. Throws `not_found`. */
function principalOf({ ports, caller }: Context, id: string): { id: string; kind: 'user' | 'agent' } {
  const { state } = ports.directory;
  if (state.agents.get(id)?.orgId === caller.org.id) return { id, kind: 'agent' };
  if (memberOfOrg(state, caller.org.id, id) !== null) return { id, kind: 'user' };
  throw notFound('principal');
}

/**
 * The scopes the giver may give: in a session all, else those it holds here and those the grant held before,
 * as narrowing is always possible.
 */
function chosenBy(
  state: MailboxRecord,
  giver: Giver,
  choice: { scopes?: MailboxScope[] | undefined; preset?: Preset | undefined },
  before?: HeldGrant,
): readonly MailboxScope[] {
  if (giver.wider !== undefined) return chosenScopes(choice, MAILBOX_SCOPES);
  const own = [...state.grants.values()].find(({ principalId }) => principalId === giver.principalId);
  const held = new Set([...(own?.scopes ?? []), ...(before?.scopes ?? [])]);
  return chosenScopes(choice, [...held]);
}

const expiryOf = (expiresAt: string | null | undefined, { now }: Giver): string | null | undefined =>
  expiresAt == null ? expiresAt : futureInstant(expiresAt, 'expires_at', now);

function grantIn(state: MailboxRecord, grantId: string): HeldGrant {
  const grant = state.grants.get(grantId);
  if (!grant) throw notFound('grant');
  return grant;
}
