/** Versions of first pages: a client that polls an unchanged list costs one small statement instead of a read of the page. */
import type { MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import {
  type FolderState,
  type IndexAnswer,
  type StateRow,
  statesOf,
  type WholeMailbox,
} from './folder-mirror.ts';
import { statesStatement } from './page-sql.ts';

export class UnchangedPages {
  readonly #sql: Sql;
  readonly #states = new SingleFlight<readonly StateRow[]>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** `unchanged` when the version the caller knows is still that of the folders, else null. Throws `MirrorNotReady`, `store_unavailable`. */
  async find(mailbox: WholeMailbox, query: MailQuery): Promise<IndexAnswer | null> {
    const { knownVersion } = query;
    if (knownVersion === undefined) return null;
    const numbers = query.folders.map(({ number }) => number);
    const key = `${String(mailbox.mailboxNumber)}:${numbers.join()}:${mailbox.folderNumbers.join()}`;
    const rows = await this.#states.ask(key, () => {
      const { text, values } = statesStatement(mailbox, numbers);
      return this.#sql.query<StateRow>(text, values);
    });
    const states = statesOf(rows, new Set(numbers).size);
    return versionOf(states) === knownVersion ? { ...UNCHANGED, states, version: knownVersion } : null;
  }
}

const UNCHANGED = { messages: [], next: null, count: null, evaluatedBy: 'gateway', unchanged: true } as const;

/** The version of a first page, for an answer that depends on nothing but the mirrors of these folders. */
export function versionOfPage(
  { after, byThread, countOnly }: MailQuery,
  { messages }: MailQueryAnswer,
  states: readonly FolderState[],
): Pick<MailQueryAnswer, 'version'> {
  if (after !== null || byThread === true || countOnly) return {};
  // The other folders of a message have versions of their own.
  return messages.some(({ alsoIn }) => alsoIn !== undefined) ? {} : { version: versionOf(states) };
}

const versionOf = (states: readonly FolderState[]): string =>
  states
    .map(
      ({ folderNumber, version, threadsVersion }) =>
        `${String(folderNumber)}:${version}:${threadsVersion ?? ''}`,
    )
    .sort()
    .join();
