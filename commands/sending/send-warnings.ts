/** The warnings about a send, for the people who approve it. */
import { counted } from '../values/counted.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { Markup, ShownBody, ShownMail, ShownParts } from '../ports/markup.ts';
import type { Ports } from '../ports/ports.ts';
import { allSelectable, effectiveRoles } from '../kernel/folders.ts';
import { visible, visiblePieces } from '../html/visible-text.ts';
import { MarkupRefused } from '../html/markup-refused.ts';
import { type ApprovalWarning, high, low, medium } from '../operations/approval-warnings.ts';
import type { SkippedRecipient } from '../operations/draft-shape.ts';
import type { SendManifest } from '../operations/manifest.ts';
import { type AddressLook, type Domains, domainsOf, lookAtAddress } from '../policy/address-look.ts';
import { policyInForce } from '../policy/decide-for-caller.ts';
import { sameAddress } from '../drafts/mail-address.ts';
import { nameWarnings, typeWarnings } from './attachment-warnings.ts';
import type { FrozenMessage } from './freeze-draft.ts';

interface WarnedSend {
  readonly mailboxAddress: string;
  readonly domains: Domains;
  /** Of the version the manifest names; null = erased. */
  readonly body: ShownParts | 'altered' | 'too_costly' | null;
}

type Warnings = readonly ApprovalWarning[];

/** All warnings about the message as it would be sent. Throws `overloaded` and `store_unavailable`. */
export async function warningsAtRequest(
  ports: Pick<Ports, 'contacts' | 'directory' | 'markup' | 'mirrorVersions'>,
  mailbox: MailboxEntry,
  manifest: SendManifest,
  { composed: { message, envelope }, smtp }: FrozenMessage,
): Promise<Warnings> {
  const content = {
    mailboxAddress: mailbox.email,
    domains: domainsOf(policyInForce(ports.directory.state, mailbox.orgId), mailbox.email),
    body: await shownBody(ports.markup, message),
  };
  return [
    ...sendWarnings(manifest, content),
    ...skippedWarnings(envelope.skipped_recipients),
    ...(await firstContactWarnings(ports, mailbox, smtp.to)),
  ];
}

/** The warnings that the manifest and its body show. Pure. */
export function sendWarnings(manifest: SendManifest, content: WarnedSend): Warnings {
  return [
    ...bodyWarnings(content.body),
    ...addressWarnings(manifest, content),
    ...envelopeWarnings(manifest, content),
    ...invisibleWarnings(manifest),
    ...nameWarnings(manifest.attachments),
    ...typeWarnings(manifest.attachments),
  ];
}

const when = (holds: boolean, warning: ApprovalWarning): Warnings => (holds ? [warning] : []);

/** How many addresses a warning names; it gives the number of the rest. */
const MOST_NAMED = 5;

function named(emails: readonly string[]): string {
  const shown = emails.slice(0, MOST_NAMED).map(visible).join(', ');
  return emails.length > MOST_NAMED ? `${shown} and ${String(emails.length - MOST_NAMED)} more` : shown;
}

/** Envelope recipients that no header field names, so that no reader would see them. */
export const strayRecipients = ({ envelope, headers: { to, cc, bcc } }: SendManifest): readonly string[] => {
  const inFields = new Set([...to, ...cc, ...bcc].map(({ email }) => email));
  return envelope.to.filter((email) => !inFields.has(email));
};

function addressWarnings(manifest: SendManifest, { domains }: WarnedSend): Warnings {
  const { from, to, cc, bcc, reply_to } = manifest.headers;
  const all = [from, ...reply_to, ...to, ...cc, ...bcc];
  const looks = all.map((each) => lookAtAddress(each, domains));
  const outside = new Set(
    manifest.envelope.to
      .map((email) => lookAtAddress({ name: null, email }, domains))
      .flatMap(({ isOutside, email }) => (isOutside ? [email] : [])),
  );
  const spoofs = (name: string | null | undefined, email: string): string =>
    `The name “${visible(name ?? '')}” shows another address than ${visible(email)}.`;
  const leaves = `${counted(outside.size, 'recipient')} outside the organisation: ${named([...outside])}.`;
  return [
    ...looks.flatMap(lookAlikeWarning),
    ...looks.flatMap(({ email, isSpoofed }, at) =>
      when(isSpoofed, high('spoofed_name', spoofs(all[at]?.name, email))),
    ),
    ...when(outside.size > 0, medium('external_recipients', leaves)),
  ];
}

function lookAlikeWarning({ email, unicode, lookAlike }: AddressLook): Warnings {
  const written = unicode === null ? '' : ` (written ${visible(unicode)})`;
  return lookAlike === null ? [] : [high('look_alike', `${visible(email)}${written}: ${lookAlike}.`)];
}

function envelopeWarnings(manifest: SendManifest, content: WarnedSend): Warnings {
  const { from, reply_to, bcc } = manifest.headers;
  const stray = strayRecipients(manifest);
  const hidden = bcc.map(({ email }) => email);
  const differs = reply_to.filter(({ email }) => email !== from.email).map(({ email }) => email);
  const fromOther = from.email.toLowerCase() !== content.mailboxAddress.toLowerCase();
  const text = {
    stray: `${counted(stray.length, 'recipient')} in the envelope, but in no field of the message: ${named(stray)}.`,
    hidden: `${counted(hidden.length, 'recipient')} hidden from the others (Bcc): ${named(hidden)}.`,
    differs: `Answers go to another address than the one it is sent from: ${named(differs)}.`,
  };
  return [
    ...when(stray.length > 0, high('envelope_only', text.stray)),
    ...when(hidden.length > 0, medium('hidden_recipients', text.hidden)),
    ...when(differs.length > 0, medium('reply_to_differs', text.differs)),
    ...when(fromOther, medium('sender_differs', 'The sender shown is not the address of the mailbox.')),
  ];
}

const hasInvisible = (text: string): boolean => visiblePieces(text).some(({ isMark }) => isMark);

function invisibleWarnings({ headers, attachments }: SendManifest): Warnings {
  const { from, to, cc, bcc, reply_to, subject, other } = headers;
  const people = [from, ...to, ...cc, ...bcc, ...reply_to].flatMap(({ name, email }) => [name ?? '', email]);
  const places = [
    ['the subject', [subject]],
    ['a name or an address', people],
    ['a file name', attachments.flatMap(({ filename }) => filename ?? [])],
    ['a header field', other.map(({ value }) => value)],
  ] as const;
  return places.flatMap(([place, texts]) => {
    const found = texts.find(hasInvisible);
    return found === undefined
      ? []
      : [high('invisible_characters', `Invisible characters in ${place}: ${visible(found)}`)];
  });
}

/** Returns `too_costly` for a body that takes too much time or memory. Throws `overloaded`. */
export async function shownBody(
  markup: Pick<Markup, 'show'>,
  { html, text }: { readonly html: string | null; readonly text: string },
): Promise<ShownParts | 'too_costly'> {
  try {
    return await markup.show({ html, text });
  } catch (error) {
    if (error instanceof MarkupRefused) return 'too_costly';
    throw error;
  }
}

const ALTERED =
  'The stored text is not the one that the approval is for, so it is not shown. It cannot be sent.';
const TOO_COSTLY = 'The text of this message takes too long to show. Do not approve what you cannot read.';

function bodyWarnings(body: WarnedSend['body']): Warnings {
  if (body === null) return [medium('content_unreadable', 'The text of this message was erased.')];
  if (body === 'altered') return [high('content_altered', ALTERED)];
  if (body === 'too_costly') return [high('content_unreadable', TOO_COSTLY)];
  const { mail, text } = body;
  const isMailCut = mail?.isCut === true;
  return [
    ...(mail === null ? [] : mailWarnings(mail)),
    ...shownWarnings(mail ?? text),
    ...when(isMailCut, medium('content_cut', 'The message is longer than what is shown here of it.')),
    ...when(text.isCut, medium('content_cut', 'The text is longer than what is shown here of it.')),
  ];
}

function shownWarnings({ invisibleMarks, lookAlikeHosts }: ShownBody): Warnings {
  const look = lookAlikeHosts === 1 ? 'looks' : 'look';
  const hosts = `${counted(lookAlikeHosts, 'host')} in the text that ${look} like another, marked below.`;
  const marks = `Invisible characters, or runs of blanks, at ${counted(invisibleMarks, 'place')} of the text, marked below.`;
  return [
    ...when(lookAlikeHosts > 0, high('look_alike', hosts)),
    ...when(invisibleMarks > 0, low('invisible_characters', marks)),
  ];
}

function mailWarnings(mail: ShownMail): Warnings {
  const { hiddenChars, smallChars, faintChars, remotePictures, misleadingLinks, movesText } = mail;
  const hidden = (count: number, of: string): Warnings =>
    when(count > 0, high('hidden_text', `${counted(count, 'character')} of ${of}`));
  const links = `${counted(misleadingLinks, 'link')} to another host than the text names.`;
  const pictures = `${counted(remotePictures, 'picture')} would be loaded from other hosts when it is read; not shown here.`;
  const moves =
    'Its styles move, cover, turn round or write text: readers may see other text, or another order, than here.';
  return [
    ...hidden(hiddenChars, 'hidden text, which readers would not see; it is marked below.'),
    ...hidden(smallChars, 'text too small to be read, marked below.'),
    ...hidden(faintChars, 'text that hardly differs from its background, marked below.'),
    ...when(misleadingLinks > 0, high('misleading_link', links)),
    ...when(movesText, medium('moved_text', moves)),
    ...when(remotePictures > 0, medium('remote_content', pictures)),
  ];
}

/** Warns of recipients that a reply should have gone to and does not. */
export function skippedWarnings(skipped: readonly SkippedRecipient[] = []): Warnings {
  const addresses = named(skipped.map(({ address }) => address));
  const reasons = [...new Set(skipped.map(({ reason }) => visible(reason)))].join(' ');
  const count = counted(skipped.length, 'address', 'addresses');
  const text = `The answer does not go to ${count} of the message it answers: ${addresses}. ${reasons}`;
  return when(skipped.length > 0, medium('skipped_recipients', text));
}

/**
 * Warns of recipients with no known earlier mail. While the mirror is incomplete, only those are known that
 * the gateway has sent mail to. Throws `store_unavailable`.
 */
async function firstContactWarnings(
  { contacts, mirrorVersions }: Pick<Ports, 'contacts' | 'mirrorVersions'>,
  mailbox: MailboxEntry,
  recipients: readonly string[],
): Promise<Warnings> {
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
  const text = `No earlier mail with ${counted(strangers.length, 'recipient')} is known: ${named(strangers)}.`;
  return when(strangers.length > 0, low('first_contact', text));
}
