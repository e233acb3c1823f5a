/** The organisation a command is about. */
import type { DirectoryState } from '../../commands/ports/directory.ts';

/** The one named, or the only one there is. Throws one sentence. */
export function organisationNamed({ organisations }: DirectoryState, org: string | undefined): string {
  const ids = [...organisations.keys()];
  const [only] = ids;
  if (only === undefined) throw new Error('There is no organisation yet; "bootstrap" makes the first.');
  if (org === undefined && ids.length === 1) return only;
  if (org !== undefined && organisations.has(org)) return org;
  throw new Error(`Name the organisation with --org: ${ids.join(', ')}.`);
}
