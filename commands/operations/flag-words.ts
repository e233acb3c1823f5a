/** What a change of flags does to messages, in words. */
import type { ActionsManifest } from './manifest.ts';

const TOLD: Readonly<Record<string, readonly [added: string, removed: string]>> = {
  '\\seen': ['marked as read', 'marked as unread'],
  '\\flagged': ['flagged', 'no longer flagged'],
  '\\answered': ['marked as answered', 'no longer marked as answered'],
};

/** `marked as read, given the keyword “done”`; `quoted` writes a keyword, which others may have chosen. */
export function flagsTold(
  { flags_add = [], flags_remove = [] }: ActionsManifest['steps'][number],
  quoted: (keyword: string) => string,
): string {
  return [
    ...flags_add.map((flag) => TOLD[flag.toLowerCase()]?.[0] ?? `given the keyword ${quoted(flag)}`),
    ...flags_remove.map((flag) => TOLD[flag.toLowerCase()]?.[1] ?? `rid of the keyword ${quoted(flag)}`),
  ].join(', ');
}
