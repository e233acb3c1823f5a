/** Waits for messages that arrive or begin to match. */
import type { Caller } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import { serverLeaves } from '../../commands/mail/matches.ts';
import type { FeedPlace, ObservedChange } from '../../commands/ports/change-feed.ts';
import { searchedFolders } from '../../commands/kernel/folders.ts';
import type { Message } from '../messages/message-view.ts';
import { showMessages } from '../messages/show-messages.ts';
import { mailboxOf } from '../messages/read-messages.ts';
import { beginsToMatch, isReportedHere, mayCount } from './begins-to-match.ts';
import { type ChangedMessage, fetchOnce } from './fetch-once.ts';
import type { Found, WaitSource } from './wait-for.ts';

export interface MessageSelection {
  readonly mailboxId: string;
  readonly folder: string | undefined;
  readonly filter: Filter;
}

/** Items of one answer; its cursor is after the last of them, so the rest follows in the next answer. */
const MOST_ITEMS = 50;
/** Conditions of the server are refused earlier. */
const NO_SERVER = { serverSays: () => false };
/** Changes whose messages are fetched together. */
const AT_ONCE = 100;

/** Throws `filter_unsupported` for conditions that only the mail server can evaluate: waits do not query it. */
export function messagesThat(context: Context, selection: MessageSelection): WaitSource<Message> {
  refuseServerLeaves(selection.filter);
  return {
    ids: [selection.mailboxId],
    find: (after, caller) => findMessages({ ...context, caller }, selection, after),
  };
}

function refuseServerLeaves(filter: Filter): void {
  const keys = [...new Set(serverLeaves(filter).map(({ key }) => key))];
  if (keys.length === 0) return;
  throw new GatewayError(
    'filter_unsupported',
    `${keys.join(' and ')} cannot be waited for: only the mail server can evaluate it. Wait without it, then query.`,
    { details: { unsupported: keys } },
  );
}

/** States in which no worker watches the mailbox: a wait would report that nothing arrived. */
function refuseUnwatched({ state }: MailboxEntry): void {
  if (state === 'paused') {
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
  }
  if (state === 'auth_failed') {
    throw new GatewayError('mailbox_auth_failed', 'The mail server refuses the stored credentials.');
  }
}

async function findMessages(
  context: Context & { readonly caller: Caller },
  { mailboxId, folder, filter }: MessageSelection,
  after: FeedPlace,
): Promise<Found<Message>> {
  const { ports } = context;
  const { mailbox, access } = mailboxOf(context, mailboxId);
  refuseUnwatched(mailbox);
  const folders = new Map(searchedFolders(mailbox, folder, ports.locators).map((ref) => [ref.number, ref]));
  const { changes, upTo } = await ports.feed.changesAfter(mailboxId, after);
  const candidates = changes.flatMap((change) => candidateOf(change, folders, filter));
  const looked = candidates.slice(0, AT_ONCE);
  const messages = await fetchOnce(ports, mailboxId, looked);
  // After the messages: threads that merged meanwhile are one in both.
  const asked = await ports.mail.withThreadIds(mailboxId, filter);
  const plain = { mailbox, access, locators: ports.locators, view: 'summary', body: null } as const;
  const { show } = await showMessages(
    ports,
    plain,
    messages.filter((message) => message !== null),
  );
  const page = new Page(Math.floor((ports.server.limits.mcpResultBytes * 3) / 4));
  for (const [index, { change }] of looked.entries()) {
    const message = messages[index] ?? null;
    if (message && beginsToMatch(change, message, asked, NO_SERVER)) {
      const item = show(message);
      if (!page.takes(item)) return { items: page.items, upTo: page.upTo ?? after, more: true };
    }
    page.upTo = change;
  }
  const isAll = looked.length === candidates.length;
  const end: FeedPlace = isAll ? { position: upTo, index: null } : (page.upTo ?? after);
  return { items: page.items, upTo: end, more: !isAll };
}

function candidateOf(
  change: ObservedChange,
  folders: ReadonlyMap<number, FolderRef>,
  filter: Filter,
): ChangedMessage[] {
  const folder = folders.get(change.folderNumber);
  if (!folder || !mayCount(change, filter) || !isReportedHere(change, [...folders.keys()])) return [];
  return [{ change, ref: { folder, uidValidity: change.uidValidity, uid: change.uid } }];
}

/** Items of one answer: whole ones, each message once, at least one. */
class Page {
  readonly items: Message[] = [];
  /** The last change that was examined. */
  upTo: FeedPlace | null = null;
  readonly #maxBytes: number;
  readonly #ids = new Set<string>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False when there is no room left. */
  takes(item: Message): boolean {
    if (this.#ids.has(item.id)) return true;
    const bytes = Buffer.byteLength(JSON.stringify(item));
    const isFull = this.items.length >= MOST_ITEMS || this.#bytes + bytes > this.#maxBytes;
    if (isFull && this.items.length > 0) return false;
    this.items.push(item);
    this.#ids.add(item.id);
    this.#bytes += bytes;
    return true;
  }
}
