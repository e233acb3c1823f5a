/** One mailbox in memory and everything an operation on it uses, from the capability to the event store. */
import { type Caller, callerOf } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import type { MailboxEntry } from '../../../commands/ports/directory.ts';
import type { Outcome } from '../../../commands/kernel/invoke-capability.ts';
import type { FolderRole } from '../../../commands/values/folder-roles.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { MAILBOX_SCOPES, type MailboxScope, SCOPES } from '../../../commands/values/scopes.ts';
import type { OperationReply } from '../../../commands/operations/operation.ts';
import { stateOf, tokenOf, type World, WORLD_NOW } from './access-world.ts';
import { BreakingMailbox } from '../fakes/breaking-mailbox.ts';
import { memoryLeases, memoryPorts } from './memory-gateway.ts';
import { shortSleep } from '../fakes/short-sleep.ts';
import { invokeAs } from './invoke-as.ts';

export const FOLDERS = ['INBOX', 'Archive', 'Trash', 'Junk', 'Work'] as const;
export type FolderPath = (typeof FOLDERS)[number];
const numberOf = (path: FolderPath): number => FOLDERS.indexOf(path) + 1;

export interface RigOptions {
  readonly scopes?: readonly MailboxScope[];
  readonly folderRoles?: readonly FolderRole[];
}

export type OperationRig = ReturnType<typeof memoryPorts> & {
  readonly mailbox: BreakingMailbox;
  readonly caller: Caller;
  /** Leases of this run and of others. */
  readonly leaseTable: Map<string, string>;
  /** The locator of a message, whether it exists or not. */
  idOf(path: FolderPath, uid: number): string;
  /** Adds a message and returns its locator. */
  arrive(path: FolderPath, messageId?: string | null, flags?: readonly string[]): string;
  /** Runs a capability on the mailbox; by default with a fresh key. */
  invoke(capability: Capability, input: object, key?: string | null): Promise<Outcome>;
  /** As `invoke`, for another caller and without naming the mailbox. */
  invokeAs(caller: Caller, capability: Capability, input: object, key?: string | null): Promise<Outcome>;
  reply(capability: Capability, input: object, key?: string | null): Promise<OperationReply>;
};

export function operationRig({ scopes = MAILBOX_SCOPES, folderRoles }: RigOptions = {}): OperationRig {
  const parts = memoryPorts();
  const mailbox = new BreakingMailbox();
  const leaseTable = new Map<string, string>();
  const world: World = {
    kind: 'user',
    role: 'member',
    tokenScopes: SCOPES,
    tokenMailboxIds: null,
    mailboxes: [0, 1].map(() => ({
      isRemoved: false,
      isForeign: false,
      grant: { scopes, folderRoles: folderRoles ?? null, expiresAt: null },
      ownersGrant: null,
    })),
  };
  const bare = stateOf(world);
  const withFolders = (entry: MailboxEntry): MailboxEntry => ({
    ...entry,
    folders: FOLDERS.map((path) => ({ number: numberOf(path), path })),
    detectedRoles: { inbox: 1, archive: 2, trash: 3, junk: 4 },
  });
  const mailboxes = new Map([...bare.mailboxes].map(([id, entry]) => [id, withFolders(entry)]));
  const state = { ...bare, mailboxes };
  const caller = callerOf(state, tokenOf(world), WORLD_NOW);
  if (!caller) throw new Error('no caller');
  const ports: Ports = {
    ...parts.ports,
    leases: memoryLeases('run_1', leaseTable),
    directory: {
      state,
      version: 1,
      isCurrent: true,
      untilCurrent: () => Promise.resolve(true),
      waitFor: () => Promise.resolve(),
      waitForAll: () => Promise.resolve(),
    },
    // No step here takes long enough to be answered late.
    clock: {
      now: () => WORLD_NOW,
      elapsedMs: () => performance.now(),
      sleep: shortSleep,
    },
  };
  parts.mail.withMailbox = (_, __, work) =>
    parts.mail.failure ? Promise.reject(parts.mail.failure) : work(mailbox);
  let count = 0;
  const idOf = (path: FolderPath, uid: number): string =>
    ports.locators.message({
      mailboxNumber: 0,
      folderNumber: numberOf(path),
      uidValidity: mailbox.folder(path).uidValidity,
      uid,
    });
  const invoke: OperationRig['invoke'] = (capability, input, key) =>
    callAs(caller, capability, { mailbox_id: 'mbx_0', ...input }, key);
  const callAs: OperationRig['invokeAs'] = (by, capability, input, key) => {
    count += 1;
    const idempotencyKey = key === undefined ? `key-${String(count)}` : key;
    return invokeAs(ports, by, [capability, input], { id: `req_${String(count)}`, idempotencyKey });
  };
  return {
    ...parts,
    ports,
    mailbox,
    caller,
    leaseTable,
    idOf,
    arrive: (path, messageId = `<${String(Math.random())}@example.com>`, flags = []) =>
      idOf(path, mailbox.add(path, messageId, flags)),
    invoke,
    invokeAs: callAs,
    reply: async (capability, input, key) => (await invoke(capability, input, key)).output as OperationReply,
  };
}
