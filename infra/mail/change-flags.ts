/** Sets and clears flags and keywords. */
import type { FlagChange } from '../../commands/ports/mail-port.ts';
import {
  type ActionTarget,
  allMissing,
  type Outcomes,
  prepareAction,
  type PreparedAction,
  refusedOutcome,
  rejected,
  settle,
} from './act-on-folder.ts';
import type { ImapConnection, OpenFolder } from './imap-connection.ts';
import { uidSet } from './uid-set.ts';

/** Prepares the change; running it changes the mailbox. Flags the folder does not keep are refused, not dropped. */
export async function prepareFlagChange(
  connection: ImapConnection,
  target: ActionTarget,
  change: FlagChange,
): Promise<() => Promise<Outcomes>> {
  const prepared = await prepareAction(connection, target);
  if (prepared === null) return () => Promise.resolve(allMissing(target.uids));
  return () => settle(prepared, (settled) => changeFlags(connection, prepared, change, settled));
}

async function changeFlags(
  connection: ImapConnection,
  { open, present }: PreparedAction,
  { add, remove }: FlagChange,
  settled: Outcomes,
): Promise<void> {
  if (present.length === 0) return;
  const settleAll = (outcome: ReturnType<typeof rejected>): void => {
    for (const uid of present) settled.set(uid, outcome);
  };
  const unkept = add.filter((flag) => !keeps(open, flag));
  if (unkept.length > 0) {
    settleAll(rejected(`This folder does not keep ${unkept.join(', ')}.`));
    return;
  }
  const set = uidSet(present);
  const isDone = await connection.write(
    async (client) =>
      (add.length === 0 || (await client.messageFlagsAdd(set, [...add], { uid: true }))) &&
      (remove.length === 0 || (await client.messageFlagsRemove(set, [...remove], { uid: true }))),
  );
  settleAll(isDone ? { outcome: 'done', newUid: null, newUidValidity: null } : refusedOutcome(connection));
}

/** imapflow drops what PERMANENTFLAGS does not name, and would say that all went well. */
const keeps = ({ permanentFlags }: OpenFolder, flag: string): boolean =>
  permanentFlags === null || [...permanentFlags].some((own) => own.toLowerCase() === flag.toLowerCase());
