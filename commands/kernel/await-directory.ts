/** The last step of every change to who may do what: it is answered when the directory knows of it. */
import type { Context } from './capability.ts';
import type { Position } from '../values/position.ts';

/**
 * `position` is where the stream stands after the decision, also when nothing was left to add: an earlier try may have
 * been cut off before other processes had to know. Throws `store_unavailable`.
 */
export async function answerWhenKnown(context: Context, position: Position | null): Promise<void> {
  if (position === null) return;
  context.notePosition(position);
  await context.ports.directory.waitFor(position);
}
