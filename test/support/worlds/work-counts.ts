/** Counts what a gateway in this process asks of Postgres, of the event store and of the mail server. */
import { EventStoreDBClient } from '@eventstore/db-client';
import { ImapFlow } from 'imapflow';
import pg from 'pg';

export interface WorkCounts {
  /** Statements sent to Postgres, the event node's included. */
  readonly statements: number;
  readonly transactions: number;
  /** Reads of a stream, asked of the event store. */
  readonly streamReads: number;
  readonly imapLogins: number;
  /** IMAP commands by name. */
  readonly commands: ReadonlyMap<string, number>;
  /** Statements by the beginning of their text. */
  readonly byText: ReadonlyMap<string, number>;
}

const startOf = (text: string): string => text.trim().replaceAll(/\s+/g, ' ').slice(0, 90);

function textOf(query: unknown): string | null {
  if (typeof query === 'string') return query;
  if (typeof query !== 'object' || query === null || !('text' in query)) return null;
  return typeof query.text === 'string' ? query.text : null;
}

/** Observes every client of the process from now on, until it is disposed. */
export class WorkCounter implements Disposable {
  readonly #byText = new Map<string, number>();
  readonly #commands = new Map<string, number>();
  #streamReads = 0;
  #logins = 0;
  readonly #ends = [this.#countStatements(), this.#countStreamReads(), this.#countMail()];

  /** What was asked while the work ran. */
  async during(work: () => Promise<void>): Promise<WorkCounts> {
    this.#byText.clear();
    this.#commands.clear();
    this.#streamReads = 0;
    this.#logins = 0;
    await work();
    const byText = new Map(this.#byText);
    return {
      statements: [...byText.values()].reduce((sum, count) => sum + count, 0),
      transactions: byText.get('begin') ?? 0,
      streamReads: this.#streamReads,
      imapLogins: this.#logins,
      commands: new Map(this.#commands),
      byText,
    };
  }

  [Symbol.dispose](): void {
    for (const end of this.#ends) end();
  }

  #countStatements(): () => void {
    const clients = pg.Client.prototype as { query: (...args: unknown[]) => unknown };
    const { query } = clients;
    const note = (text: string | null): void => {
      if (text !== null) this.#byText.set(startOf(text), (this.#byText.get(startOf(text)) ?? 0) + 1);
    };
    clients.query = function (this: unknown, ...args) {
      note(textOf(args[0]));
      return query.apply(this, args);
    };
    return () => {
      clients.query = query;
    };
  }

  #countStreamReads(): () => void {
    const clients = EventStoreDBClient.prototype as unknown as {
      readStream: (...args: unknown[]) => unknown;
    };
    const { readStream } = clients;
    const note = (): void => {
      this.#streamReads += 1;
    };
    clients.readStream = function (this: unknown, ...args) {
      note();
      return readStream.apply(this, args);
    };
    return () => {
      clients.readStream = readStream;
    };
  }

  #countMail(): () => void {
    const mail = ImapFlow.prototype as unknown as {
      connect: () => Promise<void>;
      exec: (command: string, ...rest: unknown[]) => unknown;
    };
    const { connect, exec } = mail;
    const noteLogin = (): void => {
      this.#logins += 1;
    };
    mail.connect = function (this: unknown) {
      noteLogin();
      return connect.call(this);
    };
    const noteCommand = (name: string): void => {
      this.#commands.set(name, (this.#commands.get(name) ?? 0) + 1);
    };
    mail.exec = function (this: unknown, command, ...rest) {
      noteCommand(command);
      return exec.call(this, command, ...rest);
    };
    return () => {
      mail.connect = connect;
      mail.exec = exec;
    };
  }
}
