/** Flags as the copy of a folder keeps them, so that server and copy can be compared. */
import { MIRRORED_FLAGS } from '../mail-index/folder-mirror.ts';

const SYSTEM_FLAGS = new Map<string, string>(MIRRORED_FLAGS.map((flag) => [flag.toLowerCase(), flag]));

/** System flags that mean something here in the case of RFC 3501, keywords as they are; sorted, each once. */
export function mirroredFlags(flags: Iterable<string> | undefined): readonly string[] {
  const kept = [...(flags ?? [])].flatMap((flag) =>
    flag.startsWith('\\') ? (SYSTEM_FLAGS.get(flag.toLowerCase()) ?? []) : [flag],
  );
  return [...new Set(kept)].sort();
}

/** True for the same flags in any order. */
export const sameFlags = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((flag) => b.includes(flag));
