/** The mail that tells a person which approvals wait for them, in words of this gateway only. */
import type { NoticeFact } from '../../commands/approver-notices/notice-facts.ts';
import type { WarningCode } from '../../commands/operations/warning-codes.ts';
import { counted } from '../../commands/values/counted.ts';
import {
  approvalLink,
  type Link,
  type MailItem,
  mailText,
  type MailText,
  momentOf,
  plainName,
} from './mail-parts.ts';

const WARNINGS: Readonly<Record<WarningCode, string>> = {
  content_altered: 'The stored content was altered.',
  content_unreadable: 'Some content cannot be read.',
  look_alike: 'An address looks like another one.',
  spoofed_name: 'A name contains another address.',
  invisible_characters: 'There are invisible characters.',
  hidden_text: 'There is hidden text.',
  misleading_link: 'A link leads to another place than it shows.',
  attachment_type: 'An attachment is of another type than its name says.',
  attachment_danger: 'An attachment can run programs.',
  envelope_only: 'A recipient is named in no field of the message.',
  permanent_deletion: 'Messages are deleted permanently.',
  message_replaced: 'A message was replaced.',
  hidden_recipients: 'There are Bcc recipients.',
  external_recipients: 'There are recipients outside the organisation.',
  reply_to_differs: 'Replies go to another address.',
  sender_differs: 'The sender is not the address of the mailbox.',
  moved_text: 'Text is moved out of its place.',
  remote_content: 'Content is loaded from elsewhere when it is read.',
  content_cut: 'The preview does not show everything.',
  skipped_recipients: 'Some recipients are left out.',
  message_gone: 'A message is gone.',
  messages_unknown: 'Some messages could not be looked at.',
  own_request: 'It was requested in your name.',
  first_contact: 'A recipient was never written to before.',
};

const messages = (count: number): string => counted(count, 'message');

const ACTIONS: Readonly<Record<string, (count: number) => string>> = {
  send_draft: (count) => `send a mail to ${counted(count, 'recipient')}`,
  move: (count) => `move ${messages(count)}`,
  copy: (count) => `copy ${messages(count)}`,
  trash: (count) => `move ${messages(count)} to the trash`,
  spam: (count) => `move ${messages(count)} to spam`,
  not_spam: (count) => `move ${messages(count)} out of spam`,
  archive: (count) => `archive ${messages(count)}`,
  set_flags: (count) => `change flags of ${messages(count)}`,
  expunge: (count) => `delete ${messages(count)} permanently`,
};

const whatOf = ({ action, count }: NoticeFact): string =>
  ACTIONS[action]?.(count) ?? `change ${messages(count)} in several ways`;

function whoOf({ requester, behind }: NoticeFact): string {
  const who = plainName(requester);
  return behind === null ? who : `${who} (for ${plainName(behind)})`;
}

interface Notice {
  readonly facts: readonly NoticeFact[];
  /** Told again, because their time ends. */
  readonly remindedIds: readonly string[];
  readonly organisation: string;
}

/** More are counted. */
const MOST_SHOWN = 20;

export function approvalsWaiting(
  { facts, remindedIds, organisation }: Notice,
  { baseUrl, unsubscribe }: { readonly baseUrl: string; readonly unsubscribe: Link },
): MailText {
  const [first] = facts;
  const isReminder = facts.every(({ approvalId }) => remindedIds.includes(approvalId));
  const waits =
    facts.length === 1 ? 'An approval waits for you' : `${String(facts.length)} approvals wait for you`;
  const subject = isReminder ? `Reminder: ${waits.charAt(0).toLowerCase()}${waits.slice(1)}` : waits;
  const more = facts.length - MOST_SHOWN;
  return mailText({
    subject,
    preheader: `${waits} in ${organisation}. Without a decision nothing happens.`,
    items: facts.slice(0, MOST_SHOWN).map((fact) => itemOf(fact, baseUrl)),
    paragraphs: more > 0 ? [`There are ${String(more)} more in the list.`] : [],
    action:
      facts.length === 1 && first !== undefined
        ? { label: 'Look at the approval', href: approvalLink(baseUrl, first.approvalId) }
        : { label: 'Look at the approvals', href: approvalLink(baseUrl) },
    footer:
      'You get this mail because you may decide these approvals. They can only be decided in the console, after you sign in. In your account you choose a mail for each, one a day, or none.',
    unsubscribe,
  });
}

const itemOf = (fact: NoticeFact, baseUrl: string): MailItem => ({
  title: `${whoOf(fact)} asks to ${whatOf(fact)}`,
  lines: [
    `Mailbox: ${plainAddress(fact.mailbox)}`,
    ...fact.warningCodes.map((code) => `Warning: ${WARNINGS[code]}`),
    `Until: ${momentOf(fact.expiresAt)}`,
  ],
  href: approvalLink(baseUrl, fact.approvalId),
});

/** The address of a mailbox of the organisation; an @ and dots belong to it. */
const plainAddress = (email: string): string => email.replaceAll(/[^\p{L}\p{N}@._+-]/gu, '').slice(0, 100);
