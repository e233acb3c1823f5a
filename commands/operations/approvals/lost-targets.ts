/** Whether the messages of a check can still be where they were: by their folders alone, without asking the mail server. Pure. */
import type { FolderEntry, MailboxEntry } from '../../kernel/directory.ts';
import type { Locators } from '../../kernel/ports.ts';
import type { OperationState } from '../operation.ts';

/** What the gateway's copy of a folder was at its last look. */
export interface FolderCopy {
  readonly uidValidity: number;
  readonly checkedAt: Date;
}

export interface FoldersNow {
  readonly mailbox: Pick<MailboxEntry, 'folders'>;
  /** By folder number; a folder without a copy tells nothing. */
  readonly copies: ReadonlyMap<number, FolderCopy>;
  readonly locators: Pick<Locators, 'openMessage'>;
}

/**
 * True when a message that was there when the check was asked for lay in a folder that is gone, or that has another
 * UIDVALIDITY since (RFC 3501 2.3.1.1). A copy of an older look says nothing: the check saw the server later.
 */
export function hasLostTargets(
  { targets, approval }: Pick<OperationState, 'targets' | 'approval'>,
  { mailbox, copies, locators }: FoldersNow,
): boolean {
  if (approval === null) return false;
  const requestedAt = new Date(approval.requestedAt);
  return targets.some(({ message_id, stale }) => {
    const place = stale ? null : locators.openMessage(message_id);
    if (place === null) return false;
    const copy = copies.get(place.folderNumber);
    const isNumberedAnew =
      copy !== undefined && copy.checkedAt > requestedAt && copy.uidValidity !== place.uidValidity;
    return isNumberedAnew || isGone(mailbox.folders.find(({ number }) => number === place.folderNumber));
  });
}

/** A container holds folders and no message. */
export const isGone = (folder: Pick<FolderEntry, 'availability'> | undefined): boolean =>
  (folder?.availability ?? 'selectable') !== 'selectable';
