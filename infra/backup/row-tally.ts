/** Counts the rows of a COPY in text form as they pass: a newline ends each, and inside a value it is written `\n`. */

export interface TableProgress {
  readonly table: string;
  readonly rows: number;
  /** Before compression. */
  readonly bytes: number;
  readonly isDone: boolean;
}

export type Report = (progress: TableProgress) => void;

const NEWLINE = 0x0a;

export class RowTally {
  rows = 0;
  bytes = 0;
  readonly #table: string;
  readonly #report: Report;

  constructor(table: string, report: Report) {
    this.#table = table;
    this.#report = report;
  }

  /** A stage of a pipeline: hands every chunk on, reports after each and once more at the end. */
  async *pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#add(chunk);
      this.#tell(false);
      yield chunk;
    }
    this.#tell(true);
  }

  #add(chunk: Buffer): void {
    this.bytes += chunk.length;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) this.rows += 1;
  }

  #tell(isDone: boolean): void {
    this.#report({ table: this.#table, rows: this.rows, bytes: this.bytes, isDone });
  }
}

/** Progress for a terminal, one line at a time: also readable in the log of a timer that runs the command. */
const EVERY_MS = 2_000;
const MB = 1_000_000;

/** Says where a table is every two seconds, and once when it is done. `now` is in milliseconds. */
export function progressLines(say: (line: string) => void, now: () => number): Report {
  let saidAt = now();
  return ({ table, rows, bytes, isDone }) => {
    if (!isDone && now() - saidAt < EVERY_MS) return;
    saidAt = now();
    const count = `${rows.toLocaleString('en')} rows, ${(bytes / MB).toFixed(1)} MB`;
    say(`${table}: ${count}${isDone ? '' : ' …'}`);
  };
}
