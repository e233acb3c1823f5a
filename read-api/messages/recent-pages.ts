/**
 * The one cache of answers, for clients that poll the same list: recent first pages, ready to send. A page is
 * kept when it is asked for again, so that queries that do not come back take no place. It is used only while the
 * mirror confirms its version (`MailQuery.knownVersion`), so it is never older.
 */
import type { Context } from '../../commands/kernel/capability.ts';
import type { MailQuery } from '../../commands/mail/query.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import type { MailAnswer, MailPort } from '../../commands/ports/mail-port.ts';
import { approximateBytes } from '../../commands/values/approximate-bytes.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import type { Message, Viewing } from './message-view.ts';
import { contactsFor, showMessages } from './show-messages.ts';

/** A page of fifty takes about 100 KB, and as much again as text. */
const MOST_PAGES = 100;
const MOST_BYTES = 32 * 1_048_576;
const MOST_MESSAGES = 100;
/** Pages asked for once that are remembered until they are asked for again. */
const MOST_ASKED = 1_000;
const MOST_ASKED_BYTES = 2 * 1_048_576;

interface RecentPage {
  /** An entry is replaced when the mailbox changes: its folders and their roles are part of a page. */
  readonly mailbox: MailboxEntry;
  readonly version: string;
  readonly next: MailAnswer['next'];
  readonly items: Message[];
  /** The items as JSON, from the first request that they answer. */
  json: string | null;
  /** With the JSON, whether or not it is there yet. */
  readonly bytes: number;
}

/** The pages of one mail port. */
class RecentPages {
  readonly #asked = new BoundedMap<string, true>(MOST_ASKED, {
    mostBytes: MOST_ASKED_BYTES,
    bytesOf: (_, key) => approximateBytes(key),
  });
  readonly #pages = new BoundedMap<string, RecentPage>(MOST_PAGES, {
    mostBytes: MOST_BYTES,
    bytesOf: ({ bytes }) => bytes,
  });

  /** Also notes that the page was asked for. */
  find(key: string, mailbox: MailboxEntry): { readonly isAskedAgain: boolean; readonly page?: RecentPage } {
    const isAskedAgain = this.#asked.get(key) !== undefined;
    if (!isAskedAgain) this.#asked.set(key, true);
    const page = this.#pages.get(key);
    return page?.mailbox === mailbox ? { isAskedAgain, page } : { isAskedAgain };
  }

  keep(key: string, page: Omit<RecentPage, 'json' | 'bytes'>): void {
    const bytes = 2 * (approximateBytes(page.items) + approximateBytes(key));
    this.#pages.set(key, { ...page, json: null, bytes });
  }
}

const pagesOf = new WeakMap<MailPort, RecentPages>();

function pagesOfPort(mail: MailPort): RecentPages {
  const pages = pagesOf.get(mail) ?? new RecentPages();
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
  const { isAskedAgain, page: known } = key === null ? NEVER_KEPT : pages.find(key, mailbox);
  const asked = { ...query, ...contactsFor(viewing), ...(known && { knownVersion: known.version }) };
  const answer = await mail.query(mailbox.id, asked);
  if (known && answer.unchanged) {
    const { next, items } = known;
    known.json ??= JSON.stringify(items);
    return { answer: { ...answer, next }, items, json: known.json };
  }
  if (answer.threads) return { answer, items: [] };
  const { messages, firstContacts } = answer;
  const { show, isKnown } = await showMessages(context.ports, viewing, messages, firstContacts);
  const items = messages.map(show);
  const { next, version } = answer;
  if (key !== null && isAskedAgain && version !== undefined && isKnown && items.length <= MOST_MESSAGES)
    pages.keep(key, { mailbox, version, next, items });
  return { answer, items };
}

const NEVER_KEPT = { isAskedAgain: false, page: undefined };

/**
 * Null for pages that are not cached: counts, threads, those with text, and the full view, on which a person may decide.
 * Elsewhere `first_contact` may be as old as the page, as other folders change; nothing depends on it.
 */
function keyOf({ mailbox, access, view, body }: Viewing, query: MailQuery): string | null {
  const isPlain = body === null && !['full', 'count', 'threads'].includes(view);
  if (!isPlain || query.after !== null) return null;
  return JSON.stringify([mailbox.id, access.folderRoles, view, query]);
}
