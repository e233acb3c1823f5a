/** Two tools that end only when the test lets them: a wait that ends when its client leaves, and a write. */
import { z } from 'zod';
import { type Capability, defineCapability } from '../../../../commands/kernel/capability.ts';

const hints = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
const plain = {
  rest: null,
  access: 'any-token' as const,
  idempotency: { kind: 'none' as const },
  input: z.strictObject({}),
  output: z.object({ done: z.boolean() }),
};

export interface HeldTools {
  /** `note_wait` and `note_write`. */
  readonly registry: readonly Capability[];
  /** What ended inside, in order: `wait`, `write`. Empty it before each test. */
  readonly ended: string[];
  /** Ends the write that runs. */
  readonly finishWrite: () => void;
}

export function heldTools(): HeldTools {
  const ended: string[] = [];
  let finish = (): void => undefined;
  const wait = defineCapability<Record<string, never>, { done: boolean }>({
    ...plain,
    name: 'note_wait',
    title: 'Wait',
    summary: 'Wait.',
    description: 'Wait.',
    effect: 'read',
    waits: true,
    tool: { surface: 'granular', hints },
    handle: async (_, { request }) => {
      await new Promise<void>((resolve) => {
        request.gone?.addEventListener('abort', () => {
          resolve();
        });
      });
      ended.push('wait');
      return { done: false };
    },
  });
  const write = defineCapability<Record<string, never>, { done: boolean }>({
    ...plain,
    name: 'note_write',
    title: 'Write',
    summary: 'Write.',
    description: 'Write.',
    effect: 'write',
    tool: { surface: 'granular', hints: { ...hints, readOnly: false } },
    handle: async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      ended.push('write');
      return { done: true };
    },
  });
  return {
    registry: [wait, write],
    ended,
    finishWrite: () => {
      finish();
    },
  };
}
