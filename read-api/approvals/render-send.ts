/** What a check of a send will send, and to whom: nothing of the message is left out, and what is odd about it is said. */
import type { ShownMail, ShownParts } from '../../commands/kernel/markup.ts';
import type { SendManifest } from '../../commands/operations/approvals/manifest.ts';
import { addressFact, type Domains, isOutside } from './render-address.ts';
import { attachmentFact } from './render-attachment.ts';
import { type Block, type Fact, fact, type PreviewDocument, type Row } from './render-document.ts';
import { bytesText, counted } from './render-numbers.ts';

export interface SendContent {
  readonly mailboxAddress: string;
  readonly domains: Domains;
  /** Of the version the manifest names; null = erased. */
  readonly body: ShownParts | 'altered' | 'too_costly' | null;
  /** The message kept for sending, compared with the manifest's hash; `gone` is no fault once the check has ended. */
  readonly message: 'same' | 'altered' | 'gone';
  /** The check can still be committed. */
  readonly isOpen: boolean;
}

export function describeSend(manifest: SendManifest, content: SendContent): PreviewDocument {
  const { body } = content;
  const { mail, text } = body === null || typeof body === 'string' ? { mail: null, text: null } : body;
  const warnings = [
    ...contentWarnings(content),
    ...addressWarnings(manifest, content),
    ...(mail === null ? [] : mailWarnings(mail)),
    ...(text?.isCut === true ? ['The text is longer than what is shown here of it.'] : []),
  ];
  return {
    headline: [headlineOf(manifest, content)],
    blocks: [
      ...warnings.map((warning): Block => ({ kind: 'warning', text: warning })),
      { kind: 'facts', title: null, rows: rowsOf(manifest, content) },
      ...(mail === null ? [] : [fenced('The message (HTML)', mail)]),
      ...(text === null
        ? []
        : [fenced(mail === null ? 'The message' : 'The message for programs that show no HTML', text)]),
    ],
  };
}

const fenced = (title: string, { html, text }: Pick<ShownMail, 'html' | 'text'>): Block => ({
  kind: 'fenced',
  title,
  end: 'End of the message.',
  body: { html, text },
});

function headlineOf({ envelope }: SendManifest, { domains }: SendContent): string {
  const outside = envelope.to.filter((email) => isOutside(email, domains)).length;
  const whom = counted(envelope.to.length, 'recipient');
  const beyond =
    outside === 0
      ? 'all inside the organisation'
      : outside === envelope.to.length
        ? `${outside === 1 ? 'who is' : 'all'} outside the organisation`
        : `${String(outside)} of them outside the organisation`;
  return `One message will be sent to ${whom}, ${beyond}.`;
}

function rowsOf(manifest: SendManifest, { domains, mailboxAddress }: SendContent): readonly Row[] {
  const { headers, envelope, attachments } = manifest;
  const people = (label: string, list: SendManifest['headers']['to'], outside: boolean): readonly Row[] =>
    list.length === 0 ? [] : [{ label, facts: list.map((each) => addressFact(each, { domains, outside })) }];
  const row = (label: string, value: string | null): readonly Row[] =>
    value === null ? [] : [{ label, facts: [fact(value)] }];
  const stray = strayRecipients(manifest);
  return [
    ...row('Mailbox', mailboxAddress),
    ...people('From', [headers.from], false),
    ...row('Envelope sender', envelope.from === headers.from.email ? null : envelope.from),
    ...people('Answers go to', headers.reply_to, true),
    ...people('To', headers.to, true),
    ...people('Cc', headers.cc, true),
    ...people('Hidden recipients (Bcc)', headers.bcc, true),
    ...people(
      'Named in no field',
      stray.map((email) => ({ name: null, email })),
      true,
    ),
    { label: 'Subject', facts: [subjectFact(headers.subject)] },
    ...(attachments.length === 0 ? [] : [{ label: 'Attachments', facts: attachments.map(attachmentFact) }]),
    ...row('In answer to', headers.in_reply_to),
    ...headers.other.map(({ name, value }): Row => ({ label: `Header ${name}`, facts: [fact(value)] })),
    ...row('Message-ID', headers.message_id),
    ...row('Size', `${bytesText(manifest.mime_size)}, ${counted(attachments.length, 'attachment')}`),
  ];
}

const subjectFact = (subject: string): Fact => fact(subject === '' ? 'without a subject' : subject);

/** Recipients the envelope has and no field: nobody would see them. */
const strayRecipients = ({ envelope, headers: { to, cc, bcc } }: SendManifest): readonly string[] => {
  const named = new Set([...to, ...cc, ...bcc].map(({ email }) => email));
  return envelope.to.filter((email) => !named.has(email));
};

function contentWarnings({ body, message, isOpen }: SendContent): readonly string[] {
  return [
    ...(body === null ? ['The text of this message was erased.'] : []),
    ...(body === 'altered'
      ? ['The stored text is not the one the check was made of, so it is not shown. It cannot be sent.']
      : []),
    ...(body === 'too_costly'
      ? ['The text of this message takes too long to show. Do not approve what you cannot read.']
      : []),
    ...(message === 'altered'
      ? ['The stored message is not the one the check was made of. It cannot be sent.']
      : []),
    ...(message === 'gone' && isOpen ? ['The stored message is gone. It cannot be sent.'] : []),
  ];
}

function addressWarnings({ headers, envelope }: SendManifest, content: SendContent): readonly string[] {
  const { from, reply_to } = headers;
  const differs = reply_to.some(({ email }) => email !== from.email);
  const fromOther = from.email.toLowerCase() !== content.mailboxAddress.toLowerCase();
  const stray = strayRecipients({ headers, envelope } as SendManifest).length;
  return [
    ...(differs ? ['Answers go to another address than the one it is sent from.'] : []),
    ...(fromOther ? ['The sender shown is not the address of the mailbox.'] : []),
    ...(headers.bcc.length > 0
      ? [`${counted(headers.bcc.length, 'recipient')} hidden from the others (Bcc).`]
      : []),
    ...(stray > 0 ? [`${counted(stray, 'recipient')} in the envelope, but in no field of the message.`] : []),
  ];
}

function mailWarnings(mail: ShownMail): readonly string[] {
  return [
    ...(mail.smallChars > 0
      ? [`${counted(mail.smallChars, 'character')} of text too small to be read, marked below.`]
      : []),
    ...(mail.faintChars > 0
      ? [
          `${counted(mail.faintChars, 'character')} of text that hardly differs from its background, marked below.`,
        ]
      : []),
    ...(mail.hiddenChars > 0
      ? [
          `${counted(mail.hiddenChars, 'character')} of hidden text, which readers would not see; it is marked below.`,
        ]
      : []),
    ...(mail.remotePictures > 0
      ? [
          `${counted(mail.remotePictures, 'picture')} would be loaded from other hosts when it is read; not shown here.`,
        ]
      : []),
    ...(mail.misleadingLinks > 0
      ? [`${counted(mail.misleadingLinks, 'link')} to another host than the text names.`]
      : []),
    ...(mail.movesText
      ? [
          'Its styles move, cover, turn round or write text: readers may see other text, or another order, than here.',
        ]
      : []),
    ...(mail.isCut ? ['The message is longer than what is shown here of it.'] : []),
  ];
}
