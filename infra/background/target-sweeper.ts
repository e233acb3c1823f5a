/** Ends checks about messages of folders that were numbered anew or are gone. Their own state tells, so no crash hides one. */
import { endLostCheck } from '../../commands/approvals/end-lost-check.ts';
import type { MailboxEntry } from '../../commands/kernel/directory.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import { type FolderCopy, isGone } from '../../commands/operations/approvals/lost-targets.ts';
import { listChecksOfMessages, listMailboxesWithChecks } from '../../projections/open-targets.ts';
import { folderCopies } from '../mail-index/folder-copies.ts';
import { repeat } from './repeat.ts';

const LOOK_EVERY_MS = 5_000;
/** After a change, milliseconds: what was asked for just before it is in the read model by then. */
const AGAIN_AFTER_MS = 60_000;

/** Looks until the signal aborts. */
export async function runTargetSweeper(ports: Ports, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports;
  const sweeper = new TargetSweeper(ports);
  await repeat({ name: 'target-sweeper', everyMs: LOOK_EVERY_MS, clock, log, signal }, () => sweeper.sweep());
}

interface Seen {
  /** Of every folder: its UIDVALIDITY, and whether it is gone. */
  readonly print: string;
  /** When to look once more at the same; null = it was done. */
  readonly againAt: number | null;
}

type Copies = ReadonlyMap<number, FolderCopy>;

export class TargetSweeper {
  readonly #ports: Ports;
  /** By mailbox. A new process knows nothing and looks at every open check once. */
  #seen = new Map<string, Seen>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** One pass over the mailboxes whose folders changed. Throws when the database is away. */
  async sweep(): Promise<void> {
    const { sql, directory } = this.#ports;
    const ids = await listMailboxesWithChecks(sql);
    const mailboxes = ids.flatMap((id) => directory.state.mailboxes.get(id) ?? []);
    const copies = await folderCopies(
      sql,
      mailboxes.map(({ number }) => number),
    );
    const before = this.#seen;
    this.#seen = new Map(mailboxes.flatMap(({ id }) => [[id, before.get(id)] as const]).filter(isKnown));
    for (const mailbox of mailboxes) await this.#look(mailbox, copies.get(mailbox.number) ?? new Map());
  }

  async #look(mailbox: MailboxEntry, copies: Copies): Promise<void> {
    const now = this.#ports.clock.now().getTime();
    const print = printOf(mailbox, copies);
    const seen = this.#seen.get(mailbox.id);
    const isNew = seen?.print !== print;
    if (!isNew && (seen.againAt === null || seen.againAt > now)) return;
    for (const check of await listChecksOfMessages(this.#ports.sql, mailbox.id))
      await endLostCheck(this.#ports, check, { mailbox, copies });
    this.#seen.set(mailbox.id, { print, againAt: isNew ? now + AGAIN_AFTER_MS : null });
  }
}

const isKnown = (entry: readonly [string, Seen | undefined]): entry is readonly [string, Seen] =>
  entry[1] !== undefined;

const printOf = ({ folders }: MailboxEntry, copies: Copies): string =>
  JSON.stringify([
    [...copies].map(([number, { uidValidity }]) => [number, uidValidity]),
    folders.filter(isGone).map(({ number }) => number),
  ]);
