/**
 * Caches first pages: a repeated query, as pollers send it, gets the same messages without reading them, as long as the
 * state of the mirrors is unchanged. Each use reads that state, so an answer is never older than the mirrors.
 */
import type { MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { type StateRow, statesOf } from './folder-mirror.ts';
import type { FolderState, IndexAnswer, WholeMailbox } from './folder-mirror.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import { statesStatement } from './page-sql.ts';

/** A page of fifty takes about 100 KB. */
const MAX_ENTRIES = 100;
const MOST_MESSAGES = 100;

interface CachedAnswer {
  readonly versions: string;
  readonly answer: MailQueryAnswer;
}

export class QueryCache {
  readonly #cached = new BoundedMap<string, CachedAnswer>(MAX_ENTRIES);
  readonly #sql: Sql;
  readonly #states = new SingleFlight<readonly StateRow[]>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The answer if it is still true, else null. Throws `MirrorNotReady`, `store_unavailable`. */
  async find(mailbox: WholeMailbox, query: MailQuery): Promise<IndexAnswer | null> {
    const { mailboxNumber, folderNumbers } = mailbox;
    const cached = isCacheable(query) ? this.#cached.get(keyOf(mailboxNumber, query)) : undefined;
    if (cached === undefined) return null;
    const numbers = query.folders.map(({ number }) => number);
    const key = `${String(mailboxNumber)}:${numbers.join()}:${folderNumbers.join()}`;
    const rows = await this.#states.ask(key, () => {
      const { text, values } = statesStatement(mailbox, numbers);
      return this.#sql.query<StateRow>(text, values);
    });
    const states = statesOf(rows, new Set(numbers).size);
    return versionsOf(states) === cached.versions ? { ...cached.answer, states } : null;
  }

  put({ mailboxNumber }: WholeMailbox, query: MailQuery, { states, ...answer }: IndexAnswer): void {
    if (!isCacheable(query) || answer.messages.length > MOST_MESSAGES) return;
    // The other folders of a message depend on other mirrors.
    if (answer.messages.some(({ alsoIn }) => alsoIn !== undefined)) return;
    this.#cached.set(keyOf(mailboxNumber, query), { versions: versionsOf(states), answer });
  }
}

const isCacheable = ({ after, byThread, countOnly }: MailQuery): boolean =>
  after === null && byThread !== true && !countOnly;

const keyOf = (mailboxNumber: number, { folders, filter, order, limit, depth }: MailQuery): string =>
  JSON.stringify([mailboxNumber, folders, filter, order, limit, depth]);

const versionsOf = (states: readonly FolderState[]): string =>
  states
    .map(
      ({ folderNumber, version, threadsVersion }) =>
        `${String(folderNumber)}:${version}:${threadsVersion ?? ''}`,
    )
    .sort()
    .join();
