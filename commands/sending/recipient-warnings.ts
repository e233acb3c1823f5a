/** Warnings about recipients that the message itself does not show: new people, and people left out. */
import { counted } from '../values/counted.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { allSelectable, effectiveRoles } from '../kernel/folders.ts';
import type { Ports } from '../ports/ports.ts';
import { visible } from '../html/visible-text.ts';
import { type ApprovalWarning, low, medium } from '../operations/approval-warnings.ts';
import type { SkippedRecipient } from '../operations/draft-shape.ts';
import { sameAddress } from '../drafts/mail-address.ts';
import { named } from './send-warnings.ts';

/** Warns of recipients that a reply should have gone to and does not. */
export const skippedWarnings = (skipped: readonly SkippedRecipient[] = []): readonly ApprovalWarning[] =>
  skipped.length === 0
    ? []
    : [
        medium(
          'skipped_recipients',
          `The answer does not go to ${counted(skipped.length, 'address', 'addresses')} of the message it answers: ${named(
            skipped.map(({ address }) => address),
          )}. ${[...new Set(skipped.map(({ reason }) => visible(reason)))].join(' ')}`,
        ),
      ];

/**
 * Warns of recipients with no known earlier mail. While the mirror is incomplete, only those are known that
 * the gateway has sent mail to. Throws `store_unavailable`.
 */
export async function firstContactWarnings(
  { contacts, mirrorVersions }: Pick<Ports, 'contacts' | 'mirrorVersions'>,
  mailbox: MailboxEntry,
  recipients: readonly string[],
): Promise<readonly ApprovalWarning[]> {
  const others = recipients.filter((email) => !sameAddress(email, mailbox.email));
  const writtenTo = await contacts.writtenTo(mailbox.id, others);
  const open = others.filter((email) => !writtenTo.has(email));
  if (open.length === 0) return [];
  const mail = {
    mailboxNumber: mailbox.number,
    folderNumbers: allSelectable(mailbox).map(({ number }) => number),
    sentNumber: effectiveRoles(mailbox).sent ?? null,
  };
  const known = await mirrorVersions.knownCorrespondents(mail, open);
  const strangers = open.filter((email) => known?.has(email) !== true);
  return strangers.length === 0
    ? []
    : [
        low(
          'first_contact',
          `No earlier mail with ${counted(strangers.length, 'recipient')} is known: ${named(strangers)}.`,
        ),
      ];
}
