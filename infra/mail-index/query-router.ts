/** Decides where a query is answered: from the mirror when it equals the server, else live (`contract.md` 4). */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { MailAnswer, MailSession } from '../../commands/ports/mail-port.ts';
import type { MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef } from '../../commands/mail/message.ts';
import { asksForFlags, serverLeaves } from '../../commands/mail/matches.ts';
import { asksForThreads, threadIdsOf, withThreadIds } from '../../commands/mail/threads.ts';
import type { Position } from '../../commands/values/position.ts';
import { type FolderCounts, FolderFreshness, type OnOutdated } from './folder-freshness.ts';
import type {
  FolderState,
  IndexAnswer,
  MailIndex,
  ThreadsAsked,
  ThreadsNow,
  WholeMailbox,
} from './folder-mirror.ts';

export interface QueryRouterOptions {
  readonly index: MailIndex;
  /** A mailbox with all of its folders; null where it is not answered from its mirror. */
  readonly mailboxOf: (mailboxId: string) => WholeMailbox | null;
  /** The position of the last event in the log. */
  readonly headPosition: () => Promise<Position>;
  /** Requests a poll, so that the next queries are answered from the mirror again. Must not throw. */
  readonly onOutdated?: OnOutdated;
  /** Milliseconds of a monotonic clock; `performance.now` when absent. */
  readonly now?: () => number;
}

/** The part of a borrowed connection that a query needs. */
export interface LiveSession extends Pick<MailSession, 'query' | 'fetch'> {
  /** The status of each folder without opening it; null where the server does not report it. */
  countsOf(folders: readonly FolderRef[]): Promise<readonly (FolderCounts | null)[]>;
}

/** Runs `work` on a connection of the mailbox. */
export type OnMailbox = <T>(work: (session: LiveSession) => Promise<T>) => Promise<T>;

export class QueryRouter {
  readonly #options: QueryRouterOptions;
  readonly #freshness: FolderFreshness;

  constructor(options: QueryRouterOptions) {
    this.#options = options;
    this.#freshness = new FolderFreshness(options.now, options.onOutdated);
  }

  /** Throws what `onMailbox` throws, `filter_unsupported`, and `index_building` where the mirror will answer it soon. */
  async query(mailboxId: string, query: MailQuery, onMailbox: OnMailbox): Promise<MailAnswer> {
    const mailbox = this.#options.mailboxOf(mailboxId);
    // Only the mail server can decide about bodies and unusual headers.
    const isOurs = mailbox !== null && serverLeaves(query.filter).length === 0;
    const indexed = isOurs ? await this.#fromIndex(mailboxId, mailbox, query, onMailbox) : null;
    if (indexed !== null && indexed.isExact !== false) return indexed;
    // An unreachable mailbox reports that first.
    if (asksForThreads(query) && (await this.threads(mailboxId, NOTHING)) === null)
      throw await onMailbox(() => this.#threadsUnknown(mailbox));
    // Read first: changes during the query may be in its answer, and are reported again to a later wait.
    const asOf = await this.#options.headPosition();
    try {
      return { ...(await onMailbox((session) => session.query(query))), asOf };
    } catch (error) {
      if (indexed !== null && isBeyondLimits(error)) return indexed;
      throw isOurs && isBeyondLimits(error) ? await this.#tooWide(mailbox, error) : error;
    }
  }

  /** As `MailIndex.threads`; null also where the mailbox is not answered from its mirror. */
  async threads(mailboxId: string, asked: ThreadsAsked): Promise<ThreadsNow | null> {
    const mailbox = this.#options.mailboxOf(mailboxId);
    return mailbox && (await this.#options.index.threads(mailbox, asked));
  }

  /** As `MailPort.withThreadIds`. */
  async withThreadIds(mailboxId: string, filter: Filter): Promise<Filter> {
    const ids = threadIdsOf(filter);
    if (ids.length === 0) return filter;
    const now = await this.threads(mailboxId, { messages: [], ids });
    if (now === null) throw await this.#threadsUnknown(this.#options.mailboxOf(mailboxId));
    return withThreadIds(filter, now.ids);
  }

  async #threadsUnknown(mailbox: WholeMailbox | null): Promise<GatewayError> {
    const { index } = this.#options;
    return new GatewayError(
      'index_building',
      'Conversations are known once the index of this mailbox is complete; try again, or ask without threads.',
      {
        details: mailbox === null ? {} : { ...(await index.progress(mailbox.mailboxNumber)) },
        retryAfterSeconds: RETRY_SECONDS,
      },
    );
  }

  async #fromIndex(
    mailboxId: string,
    mailbox: WholeMailbox,
    query: MailQuery,
    onMailbox: OnMailbox,
  ): Promise<MailAnswer | null> {
    const { index, headPosition } = this.#options;
    const answer = await index.query(mailbox, query);
    if (answer === null) return null;
    const { states, ...rest } = answer;
    // Without folders there are no events.
    const asOf = states.length === 0 ? await headPosition() : lastPosition(states);
    // The first events of a folder are in the log before they are in the mirror: a mirror without a position cannot use the
    // log's head.
    if (asOf === null || !(await this.#isCurrent(mailboxId, query, answer, onMailbox))) return null;
    return { ...(await withTexts(rest, query, onMailbox)), asOf, ...exactnessOf(query, states) };
  }

  async #isCurrent(
    mailboxId: string,
    { folders }: MailQuery,
    { states }: IndexAnswer,
    onMailbox: OnMailbox,
  ): Promise<boolean> {
    const unsure = states.filter(({ attested }) => !attested);
    if (unsure.length === 0) return true;
    return await this.#freshness.areCurrent(mailboxId, folders, unsure, (asked) =>
      onMailbox((session) => session.countsOf(asked)),
    );
  }

  /** A mailbox being indexed answers this soon; one without an index never does. */
  async #tooWide({ mailboxNumber }: WholeMailbox, error: unknown): Promise<unknown> {
    const { indexed, total } = await this.#options.index.progress(mailboxNumber);
    if (total === 0 && indexed === 0) return error;
    return new GatewayError(
      'index_building',
      'The index of this mailbox is being updated, and without it this query needs too many messages; try again.',
      { details: { indexed, total }, retryAfterSeconds: RETRY_SECONDS, cause: error },
    );
  }
}

const RETRY_SECONDS = 5;

const NOTHING: ThreadsAsked = { messages: [], ids: [] };

/** Refusals of the live path because of the number of messages, not of the server's abilities. */
const isBeyondLimits = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.code === 'filter_unsupported' &&
  error.details['limit'] !== undefined;

/**
 * The worker appends and applies changes of a mailbox one after the other, so the mirror contains everything reported of
 * any folder before the last event it contains of one.
 */
function lastPosition(states: readonly FolderState[]): Position | null {
  const known = states.flatMap(({ feedPosition }) => feedPosition ?? []);
  return known.reduce<Position | null>((last, each) => (last === null || each > last ? each : last), null);
}

/** Without CONDSTORE, flags are compared only at intervals: changes since then are not in any mirror, so the count is not exact. */
const exactnessOf = (
  { countOnly, filter }: MailQuery,
  states: readonly FolderState[],
): Pick<MailAnswer, 'isExact'> =>
  countOnly && asksForFlags(filter) && states.some(({ highestModseq }) => highestModseq === null)
    ? { isExact: false }
    : {};

/** Bodies are not mirrored: they are fetched for the page; messages that vanished since are omitted. */
async function withTexts(
  answer: MailQueryAnswer,
  query: MailQuery,
  onMailbox: OnMailbox,
): Promise<MailQueryAnswer> {
  const { textChars, bodySource, depth } = query;
  if (textChars === null || answer.messages.length === 0) return answer;
  const refs = answer.messages.map(({ ref }) => ref);
  const fetched = await onMailbox((session) => session.fetch(refs, depth, textChars, bodySource));
  return { ...answer, messages: fetched.filter((message): message is FetchedMessage => message !== null) };
}
