/** Approvals in a log: an operation that waits, with a requester and a mailbox. */
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Fact } from '../../../commands/values/event.ts';
import type { EventStore } from '../../../commands/ports/event-store.ts';
import type { Author } from '../../../commands/kernel/decide-and-append.ts';
import { happened, sampleAuthor, sealSample } from './event-author.ts';
import { AGENT, MAILBOX, ORG } from './sample-history.ts';
import { SAMPLE_EVENTS } from './sample-events.ts';

export interface SampleApproval {
  readonly requester?: string;
  readonly orgId?: string;
  readonly mailboxId?: string;
  readonly draftId?: string;
  readonly supersedes?: string;
  readonly expiresAt?: string;
  readonly terms?: Partial<typeof SAMPLE_EVENTS.ApprovalRequested.terms>;
}

/** An author who acts without a person at the keyboard. */
const authorOf = (id: string, orgId = ORG): Author =>
  sampleAuthor(orgId, {
    actor: { type: id.startsWith('agt') ? 'agent' : 'person', id, token_id: null, session_id: null },
  });

const IN_A_DAY = new Date(Date.now() + 86_400_000).toISOString();

/** The first append of an operation that must wait. */
export const requestFacts = (approval: SampleApproval = {}): readonly Fact<AnyEvent>[] => [
  {
    type: 'OperationSubmitted',
    data: {
      mailbox_id: approval.mailboxId ?? MAILBOX,
      capability: 'archive',
      fingerprint: 'f',
      mode: 'request_approval',
      reason: sealSample('tidy up'),
      run_id: 'run',
      targets: [{ message_id: 'msg_0', stale: false }],
      rfc_message_ids: null,
    },
  },
  { type: 'OperationDecided', data: { decision: 'require', rule_id: 'r', policy_version: 1 } },
  {
    type: 'ApprovalRequested',
    data: {
      ...SAMPLE_EVENTS.ApprovalRequested,
      action: approval.draftId === undefined ? 'archive' : 'send_draft',
      draft_id: approval.draftId ?? null,
      manifest: sealSample('{}'),
      expires_at: approval.expiresAt ?? IN_A_DAY,
      supersedes: approval.supersedes ?? null,
      terms: { ...SAMPLE_EVENTS.ApprovalRequested.terms, ...approval.terms },
    },
  },
];

/** Requests `opn_<name>`; the approval is `chk_<name>`. */
export async function askedFor(
  events: EventStore,
  name: string,
  approval: SampleApproval = {},
): Promise<void> {
  const author = authorOf(approval.requester ?? AGENT, approval.orgId);
  await happened(events, `operation-opn_${name}`, requestFacts(approval), author);
}

/** Later events in the stream of `opn_<name>`, with the sample's values as defaults. */
export async function wentOn(
  events: EventStore,
  name: string,
  type: AnyEvent['type'],
  { actorId = AGENT, ...data }: { readonly actorId?: string } & Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const fact = { type, data: { ...SAMPLE_EVENTS[type], ...data } } as Fact<AnyEvent>;
  await happened(events, `operation-opn_${name}`, [fact], authorOf(actorId));
}
