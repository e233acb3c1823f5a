/**
 * The one cache of answers, for clients that poll the same list: recent first pages, ready to send. A page is
 * used only while the mirror confirms its version (`MailQuery.knownVersion`), so it is never older.
 */
import type { Context } from '../../commands/kernel/capability.ts';
import type { MailQuery } from '../../commands/mail/query.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import type { MailAnswer, MailPort } from '../../commands/ports/mail-port.ts';
import { approximateBytes } from '../../commands/values/approximate-bytes.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import type { Message, Viewing } from './message-view.ts';
import { showMessages } from './show-messages.ts';

/** A page of fifty takes about 100 KB, and as much again as text. */
const MOST_PAGES = 100;
const MOST_BYTES = 32 * 1_048_576;
const MOST_MESSAGES = 100;

interface RecentPage {
  /** An entry is replaced when the mailbox changes: its folders and their roles are part of a page. */
  readonly mailbox: MailboxEntry;
  readonly version: string;
  readonly next: MailAnswer['next'];
  readonly items: Message[];
  /** The items as JSON, from the second request on. */
  json: string | null;
  /** With the JSON, whether or not it is there yet. */
  readonly bytes: number;
}

const pagesOf = new WeakMap<MailPort, BoundedMap<string, RecentPage>>();

function pagesOfPort(mail: MailPort): BoundedMap<string, RecentPage> {
  const pages =
    pagesOf.get(mail) ??
    new BoundedMap<string, RecentPage>(MOST_PAGES, { mostBytes: MOST_BYTES, bytesOf: ({ bytes }) => bytes });
  pagesOf.set(mail, pages);
  return pages;
}

export interface ShownPage {
  /** Without `messages` where `items` came from the cache. */
  readonly answer: MailAnswer;
  /** Shared between requests, so never changed. */
  readonly items: Message[];
  /** The items as JSON, where they came from the cache. */
  readonly json?: string;
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
  const known = key === null ? undefined : pageOf(mailbox, pages.get(key));
  const answer = await mail.query(mailbox.id, known ? { ...query, knownVersion: known.version } : query);
  if (known && answer.unchanged) {
    const { next, items } = known;
    known.json ??= JSON.stringify(items);
    return { answer: { ...answer, next }, items, json: known.json };
  }
  if (answer.threads) return { answer, items: [] };
  const { show, isKnown } = await showMessages(context.ports, viewing, answer.messages);
  const items = answer.messages.map(show);
  const { next, version } = answer;
  if (key !== null && version !== undefined && isKnown && items.length <= MOST_MESSAGES) {
    const bytes = 2 * (approximateBytes(items) + approximateBytes(key));
    pages.set(key, { mailbox, version, next, items, json: null, bytes });
  }
  return { answer, items };
}

const pageOf = (mailbox: MailboxEntry, page: RecentPage | undefined): RecentPage | undefined =>
  page?.mailbox === mailbox ? page : undefined;

/**
 * Null for pages that are not cached: those with text, and the full view, on which a person may decide.
 * Elsewhere `first_contact` may be as old as the page, as other folders change; nothing depends on it.
 */
function keyOf({ mailbox, access, view, body }: Viewing, query: MailQuery): string | null {
  if (body !== null || view === 'full' || query.after !== null) return null;
  return JSON.stringify([mailbox.id, access.folderRoles, view, query]);
}
