/** What a legal hold may name: people, mailboxes, drafts and approvals of its organisation, also those that are gone. */
import type { z } from 'zod';
import { draft } from '../drafts/draft.ts';
import { loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import { operation, operationOfApproval } from '../operations/operation.ts';
import type { Ports } from '../ports/ports.ts';
import { notFound } from '../values/errors.ts';
import type { HoldTarget } from './hold-payload.ts';
import type { HoldTerms } from './legal-hold.ts';

type Named = z.output<typeof HoldTarget>;
type Found = HoldTerms['targets'][number];
type Used = Pick<Ports, 'events' | 'directory'>;

/** Throws `not_found` for an id that was never of the organisation. */
export async function findTarget(ports: Used, orgId: string, { type, id }: Named): Promise<Found> {
  const found = FORMS[type].test(id) ? await FIND[type](ports, orgId, id) : null;
  if (found === null) throw notFound(type);
  return { type, id, ...found };
}

const FORMS: Readonly<Record<Named['type'], RegExp>> = {
  person: /^usr_[0-9a-z]{26}$/,
  mailbox: /^mbx_[0-9a-z]{26}$/,
  draft: /^drf_[0-9a-z]{26}$/,
  approval: /^chk_[0-9a-z]{26}$/,
};

type Find = (
  ports: Used,
  orgId: string,
  id: string,
) => Promise<Pick<Found, 'mailbox_id' | 'draft_id'> | null>;

const FIND: Readonly<Record<Named['type'], Find>> = {
  person: async ({ events }, orgId, id) => {
    const stored = await events.readStream(streamOf({ category: 'organisation' }, orgId));
    return stored.some(({ type, data }) => type === 'MemberAdded' && data['user_id'] === id) ? {} : null;
  },
  mailbox: ({ directory }, orgId, id) =>
    Promise.resolve(directory.state.mailboxes.get(id)?.orgId === orgId ? {} : null),
  draft: async ({ events, directory }, orgId, id) => {
    const { state } = await loadAggregate(events, draft, id);
    return inMailbox(directory, orgId, state.mailboxId);
  },
  approval: async ({ events, directory }, orgId, id) => {
    const { approval, mailboxId } = (await loadAggregate(events, operation, operationOfApproval(id))).state;
    const place = approval && inMailbox(directory, orgId, mailboxId);
    const draftId = approval?.requested.draft_id ?? null;
    return place && { ...place, ...(draftId !== null && { draft_id: draftId }) };
  },
};

/** The entry of a mailbox stays after its erasure. */
const inMailbox = (
  { state }: Used['directory'],
  orgId: string,
  mailboxId: string | null,
): { readonly mailbox_id: string } | null =>
  mailboxId !== null && state.mailboxes.get(mailboxId)?.orgId === orgId ? { mailbox_id: mailboxId } : null;
