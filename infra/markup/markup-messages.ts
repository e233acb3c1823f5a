/** What the process and its threads for markup say to each other. */
import type { Markup } from '../../commands/ports/markup.ts';
import type { MarkupRefused } from '../../commands/html/written-markup.ts';

export interface MarkupJob {
  readonly name: keyof Markup;
  readonly args: readonly unknown[];
}

export type MarkupAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly result: unknown }
  /** `reason` is null for a fault of ours. */
  | { readonly kind: 'failed'; readonly reason: MarkupRefused['reason'] | null; readonly message: string };
