/** Whether a request of a capability may or must carry an Idempotency-Key, told without its input. */
import type { Capability } from '../commands/kernel/capability.ts';

/** `conditional`: the input decides whether one is needed. */
export type KeyRule = 'none' | 'optional' | 'conditional' | 'required';

/** A rule that does not look at its input holds for every input: then a schema itself can ask for the key. */
export function keyRuleOf({ effect, idempotency }: Pick<Capability, 'effect' | 'idempotency'>): KeyRule {
  if (effect === 'read' || idempotency.kind === 'none') return 'none';
  if (idempotency.kind === 'claim') return idempotency.required ? 'required' : 'optional';
  if (idempotency.required.length > 0) return 'conditional';
  return idempotency.required(undefined) ? 'required' : 'optional';
}
