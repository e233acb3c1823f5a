/** Which changes match a wait for messages. Pure: a change has the same verdict in every process, at any time. */
import { isHome } from '../../commands/kernel/folders.ts';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { asksForFlags, matches, type MatchContext } from '../../commands/mail/matches.ts';
import type { ObservedChange } from '../../commands/ports/change-feed.ts';

/** A message marked `\Deleted` is not listed (`contract.md` 4). */
const isListed = (flags: readonly string[]): boolean => !flags.includes('\\Deleted');

/**
 * True when the change may match, before its message is fetched: an arrival that the gateway did not cause itself, because
 * its own changes are no news (`contract.md` 11); or changed flags, whatever changed them, if the filter
 * asks for flags or the message was not listed before.
 */
export function mayCount(
  {
    kind,
    operationId,
    flags,
    flagsBefore,
  }: Pick<ObservedChange, 'kind' | 'operationId' | 'flags' | 'flagsBefore'>,
  filter: Filter,
): boolean {
  if (!isListed(flags)) return false;
  if (kind === 'received') return operationId === null;
  return kind === 'updated' && (flagsBefore === null || asksForFlags(filter) || !isListed(flagsBefore));
}

/**
 * True when this is the first report of the message in these folders, which are in order of preference: an arrival when none of
 * them had it before, changed flags in its canonical folder (`inHomeOrder`).
 */
export function isReportedHere(
  { folderNumber, alsoIn, kind, flagsBefore }: ObservedChange,
  searched: readonly number[],
): boolean {
  if (kind === 'updated' && flagsBefore !== null) return isHome(folderNumber, alsoIn, searched);
  return !alsoIn.some((number) => searched.includes(number));
}

/** True when the message matches with the flags of the change and, for changed flags, did not match with those before. */
export function beginsToMatch(
  change: ObservedChange,
  message: FetchedMessage,
  filter: Filter,
  context: MatchContext,
): boolean {
  const { kind, flags, flagsBefore } = change;
  if (!matches(withFlags(message, flags), filter, context)) return false;
  if (kind === 'received' || flagsBefore === null || !isListed(flagsBefore)) return true;
  return !matches(withFlags(message, flagsBefore), filter, context);
}

const withFlags = (message: FetchedMessage, flags: readonly string[]): FetchedMessage => ({
  ...message,
  seen: flags.includes('\\Seen'),
  flagged: flags.includes('\\Flagged'),
  answered: flags.includes('\\Answered'),
  draft: flags.includes('\\Draft'),
  keywords: flags.filter((flag) => !flag.startsWith('\\')),
});
