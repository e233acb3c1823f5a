/** A running query: searches its folders and fetches messages from them. */
import type { Keyset, MailQuery } from '../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef } from '../../commands/mail/message.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { isHome } from '../../commands/kernel/folders.ts';
import { threadIdsOf, withThreadIds } from '../../commands/mail/threads.ts';
import type { ThreadsAsked, ThreadsNow } from '../mail-index/folder-mirror.ts';
import { type Depth, deeper } from './fetched-message.ts';
import { fetchUids, isHit, type SearchedFolder, searchFolder } from './folder-candidates.ts';
import type { ImapConnection, OpenFolder } from './imap-connection.ts';
import { fetchTexts, type TextRequest } from './message-text.ts';
import { openListed, reopenListed } from './open-folder.ts';
import type { QueryPlan } from './query-plan.ts';
import type { ReceivedDates, ReceivedDatesCache } from './received-dates.ts';

/** As `MailIndex.threads`, of the mailbox. */
export type FindThreads = (asked: ThreadsAsked) => Promise<ThreadsNow | null>;

export interface QueryDeps {
  readonly connection: ImapConnection;
  readonly mailboxId: string;
  readonly dates: ReceivedDatesCache;
  /** Messages fetched to check conditions that the server cannot (`contract.md` 4). */
  readonly maxEvaluated: number;
  readonly threads: FindThreads;
}

export interface Searched {
  readonly searched: SearchedFolder;
  /** Null when they were not requested. */
  readonly dates: ReceivedDates | null;
}

type Place = Pick<Keyset, 'folderNumber' | 'uid'>;

export class QueryFolders {
  readonly query: MailQuery;
  readonly plan: QueryPlan;
  readonly #deps: QueryDeps;
  readonly #numbers: readonly number[];
  readonly #folders = new Map<number, SearchedFolder>();
  #evaluated = 0;

  constructor(deps: QueryDeps, query: MailQuery, plan: QueryPlan) {
    this.#deps = deps;
    this.query = query;
    this.#numbers = query.folders.map(({ number }) => number);
    const { sharesMessages } = deps.connection.capabilities;
    // Only the labels of a message tell its canonical folder.
    this.plan = sharesMessages && query.folders.length > 1 ? { ...plan, isExact: false } : plan;
  }

  /** How many more messages may be fetched to be checked. */
  get evaluationsLeft(): number {
    return this.plan.isExact ? Infinity : this.#deps.maxEvaluated - this.#evaluated;
  }

  get maxEvaluated(): number {
    return this.#deps.maxEvaluated;
  }

  /** Searches every folder, one after the other. Throws `FolderGone` for one that is no longer where it was. */
  async search(wants: {
    readonly dates: boolean;
    readonly withoutDeleted: boolean;
  }): Promise<readonly Searched[]> {
    const all: Searched[] = [];
    for (const folder of this.query.folders) {
      const open = await openListed(this.#deps.connection, folder, 'read');
      if (open !== null) all.push(await this.#searchOpen(folder, open, wants));
    }
    return all;
  }

  async #searchOpen(
    folder: FolderRef,
    open: OpenFolder,
    wants: { readonly dates: boolean; readonly withoutDeleted: boolean },
  ): Promise<Searched> {
    const { connection, mailboxId, dates } = this.#deps;
    const received = wants.dates ? await dates.current(connection, mailboxId, open) : null;
    const searched = await searchFolder(connection, this.plan, { folder, open }, wants.withoutDeleted);
    this.#folders.set(folder.number, searched);
    return { searched, dates: received };
  }

  /** The messages at these places that match, in the order of the places. Counts those that have to be checked. */
  async hits(places: readonly Place[], depth: Depth): Promise<readonly FetchedMessage[]> {
    if (!this.plan.isExact) this.#evaluated += places.length;
    const ids = threadIdsOf(this.plan.filter);
    const { messages, ids: now } = await this.#inThreads(
      await this.#fetch(places, deeper(depth, this.plan.depth)),
      deeper(depth, this.plan.depth),
      ids,
    );
    const filter = withThreadIds(this.plan.filter, now);
    return messages.filter((message) => {
      const searched = this.#folders.get(message.ref.folder.number);
      return (
        searched !== undefined &&
        isHome(message.ref.folder.number, message.alsoIn ?? [], this.#numbers) &&
        isHit(message, searched, filter)
      );
    });
  }

  /** A page at the requested depth and with the requested text; omits messages that vanished meanwhile. */
  async complete(page: readonly FetchedMessage[], fetchedDepth: Depth): Promise<readonly FetchedMessage[]> {
    const { depth, textChars, bodySource = 'plain' } = this.query;
    const places = page.map(({ ref }) => ({ folderNumber: ref.folder.number, uid: ref.uid }));
    const isDeepEnough = deeper(depth, fetchedDepth) === fetchedDepth;
    const messages = isDeepEnough
      ? page
      : (await this.#inThreads(await this.#fetch(places, depth), depth, [])).messages;
    if (textChars === null) return messages;
    return await this.#withTexts(messages, { chars: textChars, source: bodySource });
  }

  async #fetch(places: readonly Place[], depth: Depth): Promise<readonly FetchedMessage[]> {
    const fetched = new Map<string, FetchedMessage>();
    await this.#perFolder(places, async (searched, uids) => {
      for (const message of await fetchUids(this.#deps.connection, searched, uids, depth)) {
        fetched.set(placeKey({ folderNumber: searched.folder.number, uid: message.ref.uid }), message);
      }
    });
    return places.flatMap((place) => fetched.get(placeKey(place)) ?? []);
  }

  /** The messages with their threads, and the current ids; unchanged while the index is not complete. */
  async #inThreads(
    messages: readonly FetchedMessage[],
    depth: Depth,
    ids: readonly string[],
  ): Promise<Pick<ThreadsNow, 'messages' | 'ids'>> {
    const known =
      depth === 'place' || messages.length === 0 ? null : await this.#deps.threads({ messages, ids });
    return known ?? { messages, ids: new Map() };
  }

  async #withTexts(
    messages: readonly FetchedMessage[],
    request: TextRequest,
  ): Promise<readonly FetchedMessage[]> {
    const texts = new Map<string, FetchedMessage['text']>();
    const places = messages.map(({ ref }) => ({ folderNumber: ref.folder.number, uid: ref.uid }));
    await this.#perFolder(places, async ({ folder }, uids) => {
      for (const [uid, text] of await fetchTexts(this.#deps.connection, uids, request)) {
        texts.set(placeKey({ folderNumber: folder.number, uid }), text);
      }
    });
    return messages.map((message) => {
      const text = texts.get(placeKey({ folderNumber: message.ref.folder.number, uid: message.ref.uid }));
      return text === undefined ? message : { ...message, text };
    });
  }

  /** Runs `work` in each folder, opened; a folder with a changed UIDVALIDITY holds none of these messages. */
  async #perFolder(
    places: readonly Place[],
    work: (searched: SearchedFolder, uids: readonly number[]) => Promise<void>,
  ): Promise<void> {
    for (const [number, group] of Map.groupBy(places, ({ folderNumber }) => folderNumber)) {
      const searched = this.#folders.get(number);
      if (searched === undefined) continue;
      const open = await reopenListed(this.#deps.connection, searched.folder);
      if (open.uidValidity === searched.uidValidity)
        await work(
          searched,
          group.map(({ uid }) => uid),
        );
    }
  }
}

export const placeOf = ({ ref }: FetchedMessage): Place => ({
  folderNumber: ref.folder.number,
  uid: ref.uid,
});
export const placeKey = ({ folderNumber, uid }: Place): string => `${String(folderNumber)}/${String(uid)}`;

/** Why a filter needs more messages than the gateway may fetch for it. */
export const tooWide = (limit: number): GatewayError =>
  new GatewayError(
    'filter_unsupported',
    `This query needs more than ${String(limit)} messages, the limit without an index; narrow it by folder, date, flags or size.`,
    { details: { limit } },
  );
