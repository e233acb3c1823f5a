/** What an approved send will send, and to whom: nothing of the message is left out, and what is odd about it is said. */
import { strayRecipients } from '../../commands/sending/send-warnings.ts';
import { bytesText, counted } from '../../commands/values/counted.ts';
import type { ShownMail, ShownParts } from '../../commands/ports/markup.ts';
import type { ApprovalWarning } from '../../commands/operations/approval-warnings.ts';
import type { SendManifest } from '../../commands/operations/manifest.ts';
import { type Domains, lookAtAddress } from '../../commands/policy/address-look.ts';
import { addressFact } from './render-address.ts';
import { attachmentFact } from './render-attachment.ts';
import { type Block, type Fact, fact, type PreviewDocument, type Row } from './render-document.ts';

export interface SendContent {
  readonly mailboxAddress: string;
  readonly domains: Domains;
  /** Of the version the manifest names; null = erased. */
  readonly body: ShownParts | 'altered' | 'too_costly' | null;
  /** In the order in which they are shown. */
  readonly warnings: readonly ApprovalWarning[];
}

export function describeSend(manifest: SendManifest, content: SendContent): PreviewDocument {
  const { body } = content;
  const { mail, text } = body === null || typeof body === 'string' ? { mail: null, text: null } : body;
  return {
    headline: [headlineOf(manifest, content)],
    blocks: [
      ...content.warnings.map(({ text: warning }): Block => ({ kind: 'warning', text: warning })),
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
  const outside = envelope.to.filter(
    (email) => lookAtAddress({ name: null, email }, domains).isOutside,
  ).length;
  return `One message will be sent to ${counted(envelope.to.length, 'recipient')}, ${placeOf(outside, envelope.to.length)}.`;
}

function placeOf(outside: number, all: number): string {
  const whose = all === 1 ? '' : 'all ';
  if (outside === 0) return `${whose}inside the organisation`;
  return outside === all
    ? `${whose}outside the organisation`
    : `${String(outside)} of them outside the organisation`;
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
    ...row(
      'Size',
      `${bytesText(manifest.mime_size)}, ${attachments.length === 0 ? 'no attachments' : counted(attachments.length, 'attachment')}`,
    ),
  ];
}

const subjectFact = (subject: string): Fact => fact(subject === '' ? 'without a subject' : subject);
