/**
 * The one cache of answers, for clients that poll the same list: recent first pages, ready to send. A page is
 * used only while the mirror confirms its version (`MailQuery.knownVersion`), so it is never older.
 */
import type { Context } from '../../commands/kernel/capability.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import type { MailQuery } from '../../commands/mail/query.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import type { MailAnswer, MailPort } from '../../commands/ports/mail-port.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { withFirstContacts } from './first-contacts.ts';
import { type Message, type Viewing, viewOf } from './message-view.ts';
import { showTexts } from './show-texts.ts';

/** A page of fifty takes about 100 KB. */
const MOST_PAGES = 100;
const MOST_MESSAGES = 100;

interface RecentPage {
  /** An entry is replaced when the mailbox changes: its folders and their roles are part of a page. */
  readonly mailbox: MailboxEntry;
  readonly version: string;
  readonly next: MailAnswer['next'];
  readonly items: Message[];
}

const pagesOf = new WeakMap<MailPort, BoundedMap<string, RecentPage>>();

function pagesOfPort(mail: MailPort): BoundedMap<string, RecentPage> {
  const pages = pagesOf.get(mail) ?? new BoundedMap<string, RecentPage>(MOST_PAGES);
  pagesOf.set(mail, pages);
  return pages;
}

export interface ShownPage {
  /** Without `messages` where `items` came from the cache. */
  readonly answer: MailAnswer;
  /** Shared between requests, so never changed. */
  readonly items: Message[];
}

/** The answer to a query with its messages in a view; the caller adds threads. */
export async function showPage(
  context: Pick<Context, 'ports'>,
  viewing: Viewing,
  query: MailQuery,
): Promise<ShownPage> {
  const { mail } = context.ports;
  const { mailbox } = viewing;
  const pages = pagesOfPort(mail);
  const key = keyOf(viewing, query);
  const recent = key === null ? undefined : pages.get(key);
  const known = recent?.mailbox === mailbox ? recent : undefined;
  const answer = await mail.query(mailbox.id, known ? { ...query, knownVersion: known.version } : query);
  if (known && answer.unchanged) return { answer: { ...answer, next: known.next }, items: known.items };
  if (answer.threads) return { answer, items: [] };
  const { items, isKnown } = await show(context, viewing, answer.messages);
  const { next, version } = answer;
  if (key !== null && version !== undefined && isKnown && items.length <= MOST_MESSAGES) {
    pages.set(key, { mailbox, version, next, items });
  }
  return { answer, items };
}

/** `isKnown` is false while the mirror is incomplete: first contacts are then unknown. */
async function show(
  context: Pick<Context, 'ports'>,
  viewing: Viewing,
  messages: readonly FetchedMessage[],
): Promise<{ readonly items: Message[]; readonly isKnown: boolean }> {
  const shown = await withFirstContacts(context, viewing, messages);
  const texts = await showTexts(context.ports.markup, shown, messages);
  const items = messages.map((message) => viewOf(shown, message, texts.get(message)));
  const isKnown = shown.firstContacts !== undefined || viewing.view === 'ids' || messages.length === 0;
  return { items, isKnown };
}

/**
 * Null for pages that are not cached: those with text, and the full view, on which a person may decide.
 * Elsewhere `first_contact` may be as old as the page, as other folders change; nothing depends on it.
 */
function keyOf({ mailbox, access, view, body }: Viewing, query: MailQuery): string | null {
  if (body !== null || view === 'full' || query.after !== null) return null;
  return JSON.stringify([mailbox.id, access.folderRoles, view, query]);
}
