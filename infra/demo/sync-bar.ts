/** A bar in the terminal while the first pass over a mailbox goes on. */
import type { MailboxState } from '../../commands/ports/directory.ts';
import type { SyncStatus } from '../../commands/ports/mirror-versions.ts';
import type { Ports } from '../../commands/ports/ports.ts';

const WIDTH = 30;
const LOOK_EVERY_MS = 100;

/** One line: how much of the mailbox is in the index. */
export function syncBar({ indexed, total }: Pick<SyncStatus, 'indexed' | 'total'>): string {
  const share = total === 0 ? 0 : Math.min(1, indexed / total);
  const filled = Math.floor(share * WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
  return `Indexing ${bar} ${String(indexed)} of ${String(total)} messages`;
}

const lineOf = (status: SyncStatus, isDrawnOver: boolean, isLast: boolean): string =>
  `${isDrawnOver ? '\r' : ''}${syncBar(status)}${isLast ? '\n' : ''}`;

/** After a restore a mailbox is still connected, and its index is empty until its worker knows what the mail server has. */
const isDone = (state: MailboxState, status: SyncStatus | undefined): boolean =>
  state === 'connected' &&
  status !== undefined &&
  status.indexed >= status.total &&
  (status.total > 0 || status.currentAt !== null);

export interface BarOptions {
  readonly ports: Pick<Ports, 'clock' | 'directory' | 'mirrorVersions'>;
  readonly mailboxId: string;
  readonly withinMs: number;
  readonly terminal: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;
}

/** Draws until the mailbox is connected and its folders are indexed; the last state seen when that takes too long. */
export async function showSync({
  ports,
  mailboxId,
  withinMs,
  terminal,
}: BarOptions): Promise<MailboxState | null> {
  const until = performance.now() + withinMs;
  for (;;) {
    const entry = ports.directory.state.mailboxes.get(mailboxId);
    const status = entry && (await ports.mirrorVersions.statusOf([entry])).get(mailboxId);
    const isOver = !entry || isDone(entry.state, status) || performance.now() > until;
    // Where lines cannot be drawn over, only the last one is written.
    if (status && (terminal.isTTY || isOver)) terminal.write(lineOf(status, terminal.isTTY, isOver));
    if (isOver) return entry?.state ?? null;
    await ports.clock.sleep(LOOK_EVERY_MS);
  }
}
