/** The earlier checkpoints of a trail that stand in an audit file where the index equals their size. */
import type { Sql } from '../../commands/ports/ports.ts';

interface Sealed {
  readonly size: number;
  readonly epoch: number;
  readonly note: string;
}

/** Checkpoints of one read. */
const PAGE = 500;

/** Asked with growing indexes only. */
export class InnerCheckpoints {
  readonly #sql: Sql;
  readonly #of: { readonly trail: string; readonly size: number; readonly epoch: number };
  #next: readonly Sealed[] = [];
  #isAll = false;

  /** Smaller than this size, of no newer epoch. */
  constructor(sql: Sql, of: { readonly trail: string; readonly size: number; readonly epoch: number }) {
    this.#sql = sql;
    this.#of = of;
  }

  /** False where it is known that there is none. */
  mayBeAt(size: number): boolean {
    const [first] = this.#next;
    return first === undefined ? !this.#isAll : first.size <= size;
  }

  /** Those of this size, the newest epoch first. */
  async at(size: number): Promise<readonly Sealed[]> {
    let [first] = this.#next;
    if (first !== undefined && first.size < size) {
      this.#next = this.#next.filter((sealed) => sealed.size >= size);
      [first] = this.#next;
    }
    if (first === undefined && !this.#isAll) {
      this.#next = await this.#read(size);
      this.#isAll = this.#next.length < PAGE;
      [first] = this.#next;
    }
    return first?.size === size ? this.#next.filter((sealed) => sealed.size === size) : [];
  }

  async #read(from: number): Promise<readonly Sealed[]> {
    const rows = await this.#sql.query<{ size: string; epoch: string; note: string }>(
      `select size, epoch, note from vault.audit_signed
        where trail = $1 and released_at is not null and size > 0 and size >= $2 and size < $3 and epoch <= $4
        order by size, epoch desc limit ${String(PAGE)}`,
      [this.#of.trail, from, this.#of.size, this.#of.epoch],
    );
    return rows.map(({ note, ...row }) => ({ size: Number(row.size), epoch: Number(row.epoch), note }));
  }
}
