/** All warnings in the preview of a send, as one list. Pure. */
import { counted } from '../values/counted.ts';
import type { ShownBody, ShownMail, ShownParts } from '../ports/markup.ts';
import { visible, visiblePieces } from '../html/visible-text.ts';
import { type ApprovalWarning, high, low, medium } from '../operations/approval-warnings.ts';
import type { SendManifest } from '../operations/manifest.ts';
import { type AddressLook, type Domains, lookAtAddress } from '../policy/address-look.ts';
import { nameWarnings, typeWarnings } from './attachment-warnings.ts';

export interface WarnedSend {
  readonly mailboxAddress: string;
  readonly domains: Domains;
  /** Of the version the manifest names; null = erased. */
  readonly body: ShownParts | 'altered' | 'too_costly' | null;
}

export function sendWarnings(manifest: SendManifest, content: WarnedSend): readonly ApprovalWarning[] {
  const { body } = content;
  return [
    ...bodyWarnings(body),
    ...addressWarnings(manifest, content),
    ...envelopeWarnings(manifest, content),
    ...invisibleWarnings(manifest),
    ...nameWarnings(manifest.attachments),
    ...typeWarnings(manifest.attachments),
  ];
}

/** How many addresses a warning names; it gives the number of the rest. */
const MOST_NAMED = 5;

export function named(emails: readonly string[]): string {
  const shown = emails.slice(0, MOST_NAMED).map(visible).join(', ');
  return emails.length > MOST_NAMED ? `${shown} and ${String(emails.length - MOST_NAMED)} more` : shown;
}

/** Envelope recipients that no header field names, so that no reader would see them. */
export const strayRecipients = ({ envelope, headers: { to, cc, bcc } }: SendManifest): readonly string[] => {
  const inFields = new Set([...to, ...cc, ...bcc].map(({ email }) => email));
  return envelope.to.filter((email) => !inFields.has(email));
};

function addressWarnings(manifest: SendManifest, { domains }: WarnedSend): readonly ApprovalWarning[] {
  const { from, to, cc, bcc, reply_to } = manifest.headers;
  const all = [from, ...reply_to, ...to, ...cc, ...bcc];
  const looks = all.map((each) => lookAtAddress(each, domains));
  const outside = new Set(
    manifest.envelope.to
      .map((email) => lookAtAddress({ name: null, email }, domains))
      .flatMap(({ isOutside, email }) => (isOutside ? [email] : [])),
  );
  return [
    ...looks.flatMap(lookAlikeWarning),
    ...looks.flatMap(({ email, isSpoofed }, at) =>
      isSpoofed
        ? [
            high(
              'spoofed_name',
              `The name “${visible(all[at]?.name ?? '')}” shows another address than ${visible(email)}.`,
            ),
          ]
        : [],
    ),
    ...(outside.size > 0
      ? [
          medium(
            'external_recipients',
            `${counted(outside.size, 'recipient')} outside the organisation: ${named([...outside])}.`,
          ),
        ]
      : []),
  ];
}

const lookAlikeWarning = ({ email, unicode, lookAlike }: AddressLook): readonly ApprovalWarning[] =>
  lookAlike === null
    ? []
    : [
        high(
          'look_alike',
          `${visible(email)}${unicode === null ? '' : ` (written ${visible(unicode)})`}: ${lookAlike}.`,
        ),
      ];

function envelopeWarnings(manifest: SendManifest, content: WarnedSend): readonly ApprovalWarning[] {
  const { from, reply_to, bcc } = manifest.headers;
  const stray = strayRecipients(manifest);
  const differs = reply_to.filter(({ email }) => email !== from.email).map(({ email }) => email);
  const fromOther = from.email.toLowerCase() !== content.mailboxAddress.toLowerCase();
  return [
    ...(stray.length > 0
      ? [
          high(
            'envelope_only',
            `${counted(stray.length, 'recipient')} in the envelope, but in no field of the message: ${named(stray)}.`,
          ),
        ]
      : []),
    ...(bcc.length > 0
      ? [
          medium(
            'hidden_recipients',
            `${counted(bcc.length, 'recipient')} hidden from the others (Bcc): ${named(bcc.map(({ email }) => email))}.`,
          ),
        ]
      : []),
    ...(differs.length > 0
      ? [
          medium(
            'reply_to_differs',
            `Answers go to another address than the one it is sent from: ${named(differs)}.`,
          ),
        ]
      : []),
    ...(fromOther ? [medium('sender_differs', 'The sender shown is not the address of the mailbox.')] : []),
  ];
}

const hasInvisible = (text: string): boolean => visiblePieces(text).some(({ isMark }) => isMark);

function invisibleWarnings({ headers, attachments }: SendManifest): readonly ApprovalWarning[] {
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

function bodyWarnings(body: WarnedSend['body']): readonly ApprovalWarning[] {
  if (body === null) return [medium('content_unreadable', 'The text of this message was erased.')];
  if (body === 'altered') {
    const text =
      'The stored text is not the one that the approval is for, so it is not shown. It cannot be sent.';
    return [high('content_altered', text)];
  }
  if (body === 'too_costly') {
    return [
      high(
        'content_unreadable',
        'The text of this message takes too long to show. Do not approve what you cannot read.',
      ),
    ];
  }
  const { mail, text } = body;
  return [
    ...(mail === null ? [] : mailWarnings(mail)),
    ...shownWarnings(mail ?? text),
    ...(mail?.isCut === true
      ? [medium('content_cut', 'The message is longer than what is shown here of it.')]
      : []),
    ...(text.isCut ? [medium('content_cut', 'The text is longer than what is shown here of it.')] : []),
  ];
}

const shownWarnings = ({ invisibleMarks, lookAlikeHosts }: ShownBody): readonly ApprovalWarning[] => [
  ...(lookAlikeHosts > 0
    ? [
        high(
          'look_alike',
          `${counted(lookAlikeHosts, 'host')} in the text that ${lookAlikeHosts === 1 ? 'looks' : 'look'} like another, marked below.`,
        ),
      ]
    : []),
  ...(invisibleMarks > 0
    ? [
        low(
          'invisible_characters',
          `Invisible characters, or runs of blanks, at ${counted(invisibleMarks, 'place')} of the text, marked below.`,
        ),
      ]
    : []),
];

function mailWarnings(mail: ShownMail): readonly ApprovalWarning[] {
  const { hiddenChars, smallChars, faintChars, remotePictures, misleadingLinks, movesText } = mail;
  const characters = (count: number): string => counted(count, 'character');
  return [
    ...(hiddenChars > 0
      ? [
          high(
            'hidden_text',
            `${characters(hiddenChars)} of hidden text, which readers would not see; it is marked below.`,
          ),
        ]
      : []),
    ...(smallChars > 0
      ? [high('hidden_text', `${characters(smallChars)} of text too small to be read, marked below.`)]
      : []),
    ...(faintChars > 0
      ? [
          high(
            'hidden_text',
            `${characters(faintChars)} of text that hardly differs from its background, marked below.`,
          ),
        ]
      : []),
    ...(misleadingLinks > 0
      ? [high('misleading_link', `${counted(misleadingLinks, 'link')} to another host than the text names.`)]
      : []),
    ...(movesText
      ? [
          medium(
            'moved_text',
            'Its styles move, cover, turn round or write text: readers may see other text, or another order, than here.',
          ),
        ]
      : []),
    ...(remotePictures > 0
      ? [
          medium(
            'remote_content',
            `${counted(remotePictures, 'picture')} would be loaded from other hosts when it is read; not shown here.`,
          ),
        ]
      : []),
  ];
}
