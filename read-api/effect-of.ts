/** What a request is counted as: some writes have inputs that only read (`contract.md` 15). */
import type { Capability } from '../commands/kernel/capability.ts';

export type Effect = Capability['effect'];

/** What every request of it is at least: known before its input is. */
export const leastEffectOf = ({ effect, onlyReads }: Pick<Capability, 'effect' | 'onlyReads'>): Effect =>
  onlyReads ? 'read' : effect;

/** Of one input as it was sent; what breaks the schema is a write as the rest is. */
export function effectOf(
  { effect, onlyReads, input: schema }: Pick<Capability, 'effect' | 'onlyReads' | 'input'>,
  input: unknown,
): Effect {
  if (!onlyReads) return effect;
  const parsed = schema.safeParse(input);
  return parsed.success && onlyReads(parsed.data) ? 'read' : 'write';
}
