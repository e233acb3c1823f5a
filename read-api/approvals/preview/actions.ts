/** The preview of message actions: what they will do, and the messages as they are now. */
import { counted } from '../../../commands/values/counted.ts';
import type { Address, FetchedMessage, MessageRef } from '../../../commands/mail/message.ts';
import type { Domains } from '../../../commands/policy/address-look.ts';
import { type ApprovalWarning, high, medium } from '../../../commands/operations/approval-warnings.ts';
import { flagsTold } from '../../../commands/operations/confirmation.ts';
import type { ActionsManifest } from '../../../commands/operations/manifest.ts';
import { addressFact, type Block, type Fact, fact, type PreviewDocument, type Row } from './document.ts';
import type { MailboxEntry } from '../../../commands/ports/directory.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { isSameMessage } from '../../../commands/messages/actions-manifest.ts';

/** A message of the manifest as it is now; `replaced` = another message has its UID. */
export type MessageNow =
  | { readonly state: 'gone' }
  | {
      readonly state: 'same' | 'replaced';
      readonly from: readonly Address[];
      readonly subject: string | null;
      readonly sentAt: Date | null;
    };

export interface ActionsContent {
  readonly mailboxAddress: string;
  readonly domains: Domains;
  /** In the order of the manifest's items; null = the mail server could not be queried. */
  readonly messages: readonly MessageNow[] | null;
  /** In the order in which they are shown. */
  readonly warnings: readonly ApprovalWarning[];
}

export function describeActions(manifest: ActionsManifest, content: ActionsContent): PreviewDocument {
  const { steps, items } = manifest;
  const sources = folders(items.map(({ folder }) => folder));
  const sentences = steps.map((step) => sentenceOf(step, counted(items.length, 'message'), sources));
  return {
    headline: sentences.length > 1 ? sentences.map((each, at) => `${String(at + 1)}. ${each}`) : sentences,
    blocks: [
      ...content.warnings.map(({ text }): Block => ({ kind: 'warning', text })),
      {
        kind: 'facts',
        title: null,
        rows: [
          { label: 'Mailbox', facts: [fact(content.mailboxAddress)] },
          { label: 'Messages', facts: [fact(String(items.length))] },
        ],
      },
      {
        kind: 'facts',
        title: 'The messages as they are now',
        rows: items.map((item, at) => messageRow(item, at, content)),
      },
    ],
  };
}

const quoted = (text: string): string => `“${text}”`;

/** More are counted, not named. */
const MOST_NAMED = 3;

function folders(paths: readonly string[]): string {
  const distinct = [...new Set(paths)];
  return distinct.length > MOST_NAMED
    ? `${String(distinct.length)} folders`
    : distinct.map(quoted).join(' and ');
}

type Step = ActionsManifest['steps'][number];

function sentenceOf(step: Step, messages: string, sources: string): string {
  const target = quoted(step.folder_path ?? '');
  switch (step.action) {
    case 'move':
      return `${messages} will be moved from ${sources} to ${target}.`;
    case 'copy':
      return `${messages} in ${sources} will be copied to ${target}.`;
    case 'trash':
      return `${messages} will be moved from ${sources} to the trash, ${target}.`;
    case 'spam':
      return `${messages} will be moved from ${sources} to spam, ${target}.`;
    case 'not_spam':
      return `${messages} will be moved from ${sources} back to the inbox, ${target}.`;
    case 'archive':
      return `${messages} will be moved from ${sources} to the archive, ${target}.`;
    case 'expunge':
      return `${messages} will be deleted permanently from ${sources}.`;
    case 'set_flags':
      return `${messages} in ${sources} will be ${flagsTold(step, quoted)}.`;
  }
}

/** Warnings from the mail server's current answer about the messages. */
export function messageWarnings(messages: ActionsContent['messages']): readonly ApprovalWarning[] {
  if (messages === null) {
    const text =
      'The mail server could not be reached: the current state of these messages is unknown. Try again later.';
    return [medium('messages_unknown', text)];
  }
  const count = (state: MessageNow['state']): number =>
    messages.filter((each) => each.state === state).length;
  const [gone, replaced] = [count('gone'), count('replaced')];
  const are = (number: number): string => `${counted(number, 'message')} ${number === 1 ? 'is' : 'are'}`;
  return [
    ...(gone > 0
      ? [
          medium(
            'message_gone',
            `${are(gone)} no longer where they were when this was requested; nothing can be done there.`,
          ),
        ]
      : []),
    ...(replaced > 0
      ? [
          high(
            'message_replaced',
            `At the place of ${counted(replaced, 'message')} is another message now; it is not part of the request.`,
          ),
        ]
      : []),
  ];
}

type Item = ActionsManifest['items'][number];

function messageRow(item: Item, at: number, { messages, domains }: ActionsContent): Row {
  return {
    label: `Message ${String(at + 1)}`,
    facts: messageFacts(item, messages?.[at] ?? null, domains),
  };
}

/** Of a field of one message among many. */
const SHORT = 200;
const short = (text: string): string => (text.length > SHORT ? `${text.slice(0, SHORT)}…` : text);

function messageFacts(
  { folder, rfc_message_id }: Item,
  now: MessageNow | null,
  domains: Domains,
): readonly Fact[] {
  const place = `in ${quoted(folder)}`;
  const named = rfc_message_id === null ? place : `${place}, Message-ID ${short(rfc_message_id)}`;
  if (now === null) return [fact(named)];
  if (now.state === 'gone') return [fact(named, { warnings: ['no longer there'] })];
  const [sender] = now.from;
  const date = now.sentAt === null ? [] : [now.sentAt.toISOString().slice(0, 16).replace('T', ' ') + ' UTC'];
  return [
    fact(now.subject === null ? 'without a subject' : short(now.subject), {
      notes: [...date, place],
      warnings: now.state === 'replaced' ? ['not the requested message'] : [],
    }),
    ...(sender === undefined
      ? []
      : [
          addressFact(
            { name: sender.name && short(sender.name), email: short(sender.email) },
            { domains, outside: false },
          ),
        ]),
  ];
}

/** One fetch, in the order of the manifest. Null when the mail server is unreachable, which is reported. */
export async function messagesNow(
  { mail, locators, log }: Pick<Ports, 'mail' | 'locators' | 'log'>,
  mailbox: MailboxEntry,
  manifest: ActionsManifest,
): Promise<readonly MessageNow[] | null> {
  const places = manifest.items.map(({ message_id }) => placeOf(mailbox, locators, message_id));
  const known = places.filter((place) => place !== null);
  try {
    const fetched = await mail.withMailbox(mailbox.id, 'interactive', (session) =>
      session.fetch(known, 'envelope', null),
    );
    const found = new Map(known.map((place, at) => [place, fetched[at] ?? null]));
    return manifest.items.map((item, at) => {
      const place = places[at] ?? null;
      return messageNow(manifest.nonce, item, place && (found.get(place) ?? null));
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.warn('approval preview: messages not readable', { mailbox_id: mailbox.id, code: error.code });
    return null;
  }
}

/** Null when the mailbox no longer has the folder. */
function placeOf(mailbox: MailboxEntry, locators: Ports['locators'], messageId: string): MessageRef | null {
  const place = locators.openMessage(messageId);
  const folder = mailbox.folders.find(({ number }) => number === place?.folderNumber);
  if (place?.mailboxNumber !== mailbox.number || !folder) return null;
  return { folder, uidValidity: place.uidValidity, uid: place.uid };
}

function messageNow(
  nonce: string,
  item: ActionsManifest['items'][number],
  found: FetchedMessage | null,
): MessageNow {
  if (found === null) return { state: 'gone' };
  const { from, subject, sentAt } = found;
  return { state: isSameMessage(nonce, item, found) ? 'same' : 'replaced', from, subject, sentAt };
}
