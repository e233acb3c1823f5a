/** Erases removed mailboxes once their time to be restored is over. */
import type { Ports } from '../../commands/ports/ports.ts';
import { eraseDueMailboxes } from '../../commands/mailboxes/erase-mailboxes.ts';
import { repeat } from './repeat.ts';

const LOOK_EVERY_MS = 60_000;

/** Looks for due mailboxes until the signal aborts. */
export async function runMailboxEraser(ports: Ports, signal: AbortSignal): Promise<void> {
  const loop = { name: 'mailbox-eraser', everyMs: LOOK_EVERY_MS, clock: ports.clock, log: ports.log, signal };
  await repeat(loop, async () => {
    for (const id of await eraseDueMailboxes(ports))
      ports.log.info('mailbox: erased after removal', { mailbox_id: id });
  });
}
