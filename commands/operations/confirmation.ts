/** What an approver sees before the decision: what they confirm, as one sentence and in parts, and the warnings. Pure. */
import { z } from 'zod';
import { counted } from '../values/counted.ts';
import { visible } from '../html/visible-text.ts';
import { type Domains, domainsOf, lookAtAddress } from '../policy/address-look.ts';
import type { ActionsManifest, Manifest, SendManifest } from './manifest.ts';
import type { DirectoryState, MailboxEntry } from '../ports/directory.ts';
import { policyInForce } from '../policy/decide-for-caller.ts';
import { ApprovalWarning, OWN_REQUEST, worstFirst } from './approval-warnings.ts';
import { personBehind } from './eligible-approvers.ts';

export const Confirmation = z.object({
  sentence: z.string().describe('What would happen, with all recipients, as text for a confirmation.'),
  what: z.string().describe('The beginning of the sentence: what would happen, without recipients.'),
  destructive: z.boolean().describe('It cannot be undone: messages are deleted permanently.'),
  recipients: z
    .array(
      z.object({
        field: z
          .enum(['to', 'cc', 'bcc', 'envelope'])
          .describe('envelope: named in no field of the message.'),
        email: z.string().describe('With its domain in ASCII.'),
        name: z.string().nullable(),
        outside: z.boolean().describe('Outside the organisation.'),
      }),
    )
    .optional()
    .describe('Of a send.'),
  attachments: z.int().optional().describe('Of a send: how many.'),
});
export type Confirmation = z.output<typeof Confirmation>;

/** `warnings`: their number. */
export const confirmationOf = (manifest: Manifest, domains: Domains, warnings: number): Confirmation =>
  manifest.kind === 'send_draft' ? ofSend(manifest, domains, warnings) : ofActions(manifest, warnings);

type Recipient = NonNullable<Confirmation['recipients']>[number];

function ofSend(
  { headers, envelope, attachments }: SendManifest,
  domains: Domains,
  warnings: number,
): Confirmation {
  const recipient =
    (field: Recipient['field']) =>
    ({ name, email }: SendManifest['headers']['from']): Recipient => {
      const look = lookAtAddress({ name, email }, domains);
      return { field, email: look.email, name, outside: look.isOutside };
    };
  const { to, cc, bcc } = headers;
  const inFields = new Set([...to, ...cc, ...bcc].map(({ email }) => email));
  const stray = envelope.to.filter((email) => !inFields.has(email)).map((email) => ({ name: null, email }));
  const recipients = [
    ...to.map(recipient('to')),
    ...cc.map(recipient('cc')),
    ...bcc.map(recipient('bcc')),
    ...stray.map(recipient('envelope')),
  ];
  const subject = headers.subject === '' ? 'a message without a subject' : `“${visible(headers.subject)}”`;
  const parts = [
    ...FIELDS.flatMap(([field, label]) =>
      listed(
        label,
        recipients.filter((each) => each.field === field),
      ),
    ),
    attachments.length === 0 ? 'no attachments' : counted(attachments.length, 'attachment'),
    ...warningsTold(warnings),
  ];
  const what = `Send ${subject}`;
  return {
    sentence: `${what}: ${parts.join(' · ')}`,
    what,
    ...{ destructive: false, recipients, attachments: attachments.length },
  };
}

const FIELDS = [
  ['to', 'To'],
  ['cc', 'Cc'],
  ['bcc', 'Bcc'],
  ['envelope', 'In no field'],
] as const;

const listed = (label: string, recipients: readonly Recipient[]): readonly string[] =>
  recipients.length === 0
    ? []
    : [
        `${label} ${recipients.map(({ email, outside }) => `${visible(email)}${outside ? ' (outside)' : ''}`).join(', ')}`,
      ];

const warningsTold = (warnings: number): readonly string[] =>
  warnings === 0 ? [] : [counted(warnings, 'warning')];

/** More folders are counted, not named. */
const MOST_NAMED = 3;

function ofActions({ steps, items }: ActionsManifest, warnings: number): Confirmation {
  const messages = counted(items.length, 'message');
  const paths = [...new Set(items.map(({ folder }) => folder))];
  const from =
    paths.length > MOST_NAMED ? `${String(paths.length)} folders` : paths.map(quoted).join(' and ');
  const what = steps.map((step) => VERBS[step.action](messages, from, step)).join(', then ');
  return {
    sentence: [what, ...warningsTold(warnings)].join(' · '),
    what,
    destructive: steps.some(({ action }) => action === 'expunge'),
  };
}

const quoted = (name: string): string => `“${visible(name)}”`;

type Step = ActionsManifest['steps'][number];
type Verb = (messages: string, from: string, step: Step) => string;

const VERBS: Readonly<Record<Step['action'], Verb>> = {
  move: (messages, from, { folder_path: to = '' }) => `Move ${messages} from ${from} to ${quoted(to)}`,
  copy: (messages, from, { folder_path: to = '' }) => `Copy ${messages} from ${from} to ${quoted(to)}`,
  trash: (messages, from) => `Move ${messages} from ${from} to the trash`,
  spam: (messages, from) => `Move ${messages} from ${from} to spam`,
  not_spam: (messages, from) => `Move ${messages} from ${from} back to the inbox`,
  archive: (messages, from) => `Archive ${messages} from ${from}`,
  expunge: (messages, from) => `Delete ${messages} permanently from ${from}`,
  set_flags: (messages, from, step) => `Have ${messages} in ${from} ${flagsTold(step, quoted)}`,
};

/** What a change of flags does to messages, in words. */
const TOLD: Readonly<Record<string, readonly [added: string, removed: string]>> = {
  '\\seen': ['marked as read', 'marked as unread'],
  '\\flagged': ['flagged', 'no longer flagged'],
  '\\answered': ['marked as answered', 'no longer marked as answered'],
};

/** `marked as read, given the keyword “done”`; `quoted` writes a keyword, which others may have chosen. */
export function flagsTold(
  { flags_add = [], flags_remove = [] }: ActionsManifest['steps'][number],
  quoted: (keyword: string) => string,
): string {
  return [
    ...flags_add.map((flag) => TOLD[flag.toLowerCase()]?.[0] ?? `given the keyword ${quoted(flag)}`),
    ...flags_remove.map((flag) => TOLD[flag.toLowerCase()]?.[1] ?? `rid of the keyword ${quoted(flag)}`),
  ].join(', ');
}

/** What an approver sees before the decision: the sentence to confirm, warnings, whether it is their own. */
export const ApprovalFacts = z.object({
  confirmation: Confirmation.nullable().describe(
    'What an approver confirms; null once the mailbox was erased.',
  ),
  warnings: z
    .array(ApprovalWarning)
    .optional()
    .describe('Warnings at the time of the request, worst first; absent if none were recorded.'),
  own_request: z
    .boolean()
    .optional()
    .describe('You are the person behind the request; absent in reports to several callers.'),
});
export type ApprovalFacts = z.output<typeof ApprovalFacts>;

interface FactsOf {
  /** Null once the mailbox was erased. */
  readonly manifest: Manifest | null;
  readonly mailbox: Pick<MailboxEntry, 'orgId' | 'email'> | undefined;
  /** Null where none were recorded, or they were erased. */
  readonly warnings: readonly ApprovalWarning[] | null;
  readonly isOwn: boolean | null;
}

export function approvalFacts(
  state: Pick<DirectoryState, 'policies'>,
  { manifest, mailbox, warnings, isOwn }: FactsOf,
): ApprovalFacts {
  const all = warnings === null ? null : worstFirst([...warnings, ...(isOwn === true ? [OWN_REQUEST] : [])]);
  const domains = mailbox && domainsOf(policyInForce(state, mailbox.orgId), mailbox.email);
  return {
    confirmation: manifest === null || !domains ? null : confirmationOf(manifest, domains, all?.length ?? 0),
    ...(all === null ? {} : { warnings: all }),
    ...(isOwn === null ? {} : { own_request: isOwn }),
  };
}

/** True when the viewer is the person in whose name it was requested; null without a viewer. */
export const isOwnRequest = (
  state: Pick<DirectoryState, 'agents'>,
  by: { readonly id: string },
  viewerId: string | undefined,
): boolean | null => (viewerId === undefined ? null : personBehind(state, by) === viewerId);
