/** The preview of a send: recipients, headers, text and attachments in full, with warnings; and the frozen message behind it. */
import { strayRecipients } from '../../../commands/sending/send-warnings.ts';
import { bytesText, counted } from '../../../commands/values/counted.ts';
import type { ShownMail, ShownParts } from '../../../commands/ports/markup.ts';
import type { ApprovalWarning } from '../../../commands/operations/approval-warnings.ts';
import type { SendManifest } from '../../../commands/operations/manifest.ts';
import { type Domains, lookAtAddress } from '../../../commands/policy/address-look.ts';
import { addressFact, type Block, type Fact, fact, type PreviewDocument, type Row } from './document.ts';
import { dangersOfName } from '../../../commands/sending/attachment-warnings.ts';
import { createHash } from 'node:crypto';
import { ContentAltered, type ContentStore } from '../../../commands/ports/content-store.ts';
import { streamOf } from '../../../commands/kernel/decide-and-append.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import { type PastFact, readEvent } from '../../../commands/values/event.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { draft } from '../../../commands/drafts/draft.ts';
import { type DraftBody, loadBody } from '../../../commands/drafts/draft-body.ts';
import type { draftEvents } from '../../../commands/drafts/draft-events.ts';
import { bodyHash } from '../../../commands/sending/request-send.ts';

export interface SendContent {
  readonly mailboxAddress: string;
  readonly domains: Domains;
  /** The version named by the manifest; null = erased. */
  readonly body: ShownParts | 'altered' | 'too_costly' | null;
  /** In display order. */
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

const attachmentFact = ({
  filename,
  content_type,
  size,
  sha256,
}: SendManifest['attachments'][number]): Fact => ({
  text: filename ?? 'without a name',
  notes: [content_type, bytesText(size), `SHA-256 ${sha256}`],
  warnings: filename === null ? [] : dangersOfName(filename),
});

/** The frozen content of a send, from the stream of its draft and the content store. */
export interface FrozenSend {
  /** Null = erased; `altered` = does not match the manifest's hash. */
  readonly body: Pick<DraftBody, 'html' | 'text'> | 'altered' | null;
  /** The stored message compared with the manifest's hash. */
  readonly message: 'same' | 'altered' | 'gone';
}

type Where = Pick<Ports, 'events' | 'content'>;

/** Reads the text and the whole stored message. Throws `store_unavailable`. */
export async function loadFrozenSend(
  { events, content }: Where,
  manifest: SendManifest,
): Promise<FrozenSend> {
  const facts = await factsOf(events, manifest);
  const [body, message] = await Promise.all([
    bodyOf(content, facts, manifest),
    messageOf(content, facts, manifest),
  ]);
  return { body, message };
}

type Facts = readonly PastFact<(typeof draftEvents)[number]>[];

const factsOf = async (events: Where['events'], { draft_id }: SendManifest): Promise<Facts> =>
  (await events.readStream(streamOf(draft, draft_id))).flatMap(
    (stored) => readEvent(draft.catalogue, stored) ?? [],
  ) as Facts;

/** The id of the stored message; null when none was frozen for this operation. Throws `store_unavailable`. */
export const frozenMessageId = async (
  events: Where['events'],
  manifest: SendManifest,
): Promise<string | null> => messageIdOf(await factsOf(events, manifest), manifest);

function messageIdOf(facts: Facts, { operation_id }: SendManifest): string | null {
  const frozen = facts.findLast(
    (fact) => fact.type === 'DraftFrozen' && fact.data.operation_id === operation_id,
  );
  return frozen?.type === 'DraftFrozen' ? frozen.data.mime_id : null;
}

async function bodyOf(
  content: ContentStore,
  facts: Facts,
  manifest: SendManifest,
): Promise<FrozenSend['body']> {
  const versions = facts.flatMap((fact) =>
    fact.type === 'DraftStarted' || fact.type === 'DraftEdited' ? [fact.data.draft] : [],
  );
  const version = versions.find((each) => each.version === manifest.draft_version);
  if (!version) return null;
  const body = await intact(() => loadBody(content, version.content_id));
  return body === null || body === 'altered' || bodyHash(body) === manifest.body_sha256 ? body : 'altered';
}

async function messageOf(
  content: ContentStore,
  facts: Facts,
  manifest: SendManifest,
): Promise<FrozenSend['message']> {
  const id = messageIdOf(facts, manifest);
  const kept = id === null ? null : await intact(() => hashOf(content, id));
  if (kept === null) return 'gone';
  return kept === manifest.mime_sha256 ? 'same' : 'altered';
}

/** SHA-256 of the stored bytes, in hex. */
async function hashOf(content: ContentStore, id: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of content.open(id)) hash.update(piece);
  return hash.digest('hex');
}

/** Missing content is null, tampered content `altered`. */
async function intact<T>(read: () => Promise<T>): Promise<T | 'altered' | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ContentAltered) return 'altered';
    if (error instanceof GatewayError && error.code === 'not_found') return null;
    throw error;
  }
}
