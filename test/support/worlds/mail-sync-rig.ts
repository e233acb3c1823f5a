/** Workers of mailboxes with a real mail server and a real mirror; log and directory are in memory. */
import type { ImapFlow } from 'imapflow';
import { type FeedChange, feedStream } from '../../../commands/feed/feed-events.ts';
import {
  appendFacts,
  decideAndAppend,
  streamOf,
  systemAuthor,
} from '../../../commands/kernel/decide-and-append.ts';
import type { FolderEntry, MailboxEntry } from '../../../commands/ports/directory.ts';
import type { HostSettings } from '../../../commands/ports/mail-port.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { addMailbox } from '../../../commands/mailboxes/decide-settings.ts';
import { recordMailFailure, recordMailHealth } from '../../../commands/mailboxes/connect-mailbox.ts';
import { mailbox, type MailboxFact } from '../../../commands/mailboxes/mailbox.ts';
import { labelledFolders } from '../../../infra/mail/labelled-folders.ts';
import type { ImapGateway } from '../../../infra/mail/imap-gateway.ts';
import { allSelectable } from '../../../commands/kernel/folders.ts';
import type { FolderKey, MailIndex, WholeMailbox } from '../../../infra/mail-index/folder-mirror.ts';
import { PostgresMailIndex } from '../../../infra/mail-index/postgres-mirror.ts';
import { notifyMailbox } from '../../../infra/mail-sync/mailbox-notify.ts';
import { createChangeAttribution } from '../../../infra/mail-sync/postgres-change-attribution.ts';
import { runMailboxWorkers } from '../../../infra/mail-sync/mailbox-workers.ts';
import { mirroredFlags } from '../../../infra/mail-sync/fetch-changes.ts';
import type { SyncTimes } from '../../../infra/mail-sync/sync-times.ts';
import { keepConnectionsTrue } from '../../../infra/process/mail-settings.ts';
import { startLeases } from '../../../infra/postgres/leases.ts';
import { openPool, postgresSql } from '../../../infra/postgres/pool.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { PASSWORD } from '../servers/dovecot.ts';
import { mailGateway } from './mail-gateway.ts';
import { withClient } from '../servers/mail-append.ts';
import { ADD, sealed } from '../samples/mailbox-facts.ts';
import { memoryPorts } from './memory-gateway.ts';
import type { MemoryEventStore } from '../fakes/memory-event-store.ts';
import { testDatabase } from '../servers/postgres.ts';
import { silentLog } from '../fakes/silent-log.ts';

/** Times short enough for a test. */
const QUICK: Partial<SyncTimes> = {
  leaseMs: 2_000,
  renewEveryMs: 300,
  lookEveryMs: 50,
  roundEveryMs: 300,
  compareEveryMs: 60_000,
  unreachable: { firstMs: 100, mostMs: 400 },
  heldBack: { firstMs: 200, mostMs: 400 },
  refused: { firstMs: 200, mostMs: 400 },
};

export interface SyncRig {
  readonly ports: Ports;
  readonly events: MemoryEventStore;
  readonly index: PostgresMailIndex;
  readonly gateway: ImapGateway;
  readonly mailboxId: string;
  /** Starts workers like a separate process; the returned function ends them. */
  work(times?: Partial<SyncTimes>, index?: MailIndex): () => Promise<void>;
  /** A client of another user of the account. */
  client<T>(work: (client: ImapFlow) => Promise<T>): Promise<T>;
  /** Another mailbox of the same account; its id. */
  addMailbox(): Promise<string>;
  /** Mailboxes that a worker holds now. */
  leases(): Promise<readonly string[]>;
  /** As a person does with PATCH. */
  pauseMailbox(): Promise<void>;
  entry(): MailboxEntry;
  /** The mailbox as queries of the mirror name it. */
  whole(): WholeMailbox;
  folder(path: string): FolderEntry;
  /** Every change reported so far, with the folder's path. */
  told(): readonly (FeedChange & { readonly path: string; readonly uid: number })[];
  /** Differences between the mirror and the server; empty = the same. */
  differences(): Promise<readonly string[]>;
  close(): Promise<void>;
}

let count = 0;

export interface RigOptions {
  /** Where the gateway connects, if different from other clients. */
  readonly gatewayImap?: HostSettings;
  readonly password?: string;
  readonly commandTimeoutMs?: number;
  readonly providerConnections?: number;
  /** The gateway answers from the mirror where it can. */
  readonly hasQueries?: boolean;
}

/** A mailbox of `user`, known and not connected yet. */
export async function startSyncRig(
  imap: HostSettings,
  user: string,
  {
    gatewayImap = imap,
    password = PASSWORD,
    commandTimeoutMs = 10_000,
    providerConnections = 4,
    hasQueries = false,
  }: RigOptions = {},
): Promise<SyncRig> {
  const database = await testDatabase();
  const pool = openPool({ url: database.url, log: silentLog });
  const sql = postgresSql(pool);
  const { ports: memory, directory, events } = memoryPorts();
  const index = new PostgresMailIndex(sql, memory.locators);
  count += 1;
  const mailboxId = `mbx_rig${String(count)}`;
  const changeAttribution = createChangeAttribution({ sql, mailboxNumber: () => ADD.number });
  const base: Ports = { ...memory, sql, clock: systemClock, changeAttribution };
  const note = (written: Promise<void>): void => {
    written.catch(() => undefined);
  };
  const { gateway } = mailGateway(gatewayImap, user, {
    providerConnections,
    password,
    limits: { commandTimeoutMs },
    foldersOf: () => labelledFolders(entry()),
    onMailboxTrouble: (id, error) => {
      note(recordMailFailure(base, id, error));
    },
    onMailboxHealthy: (id) => {
      note(recordMailHealth(base, id));
    },
    onFolderGone: (id, path) => {
      const gone = entry().folders.filter((folder) => folder.path === path);
      note(
        notifyMailbox(
          sql,
          id,
          gone.map(({ number }) => number),
        ),
      );
    },
    ...(hasQueries && {
      queries: {
        index,
        mailboxOf: () => whole(),
        headPosition: () => events.headPosition(),
        onOutdated: (id, folders) => {
          note(notifyMailbox(sql, id, folders));
        },
      },
    }),
  });
  // No feed is followed here: the worker itself doubts the folders that it finds replaced.
  keepConnectionsTrue(gateway, { directory, feed: { onFolderReset: () => undefined } });
  const add = async (id: string, number: number): Promise<void> => {
    const email = sealed(`sealed:x:${id}@example.com`);
    const { position } = await appendFacts(base, systemAuthor(base, 'org_1'), {
      stream: streamOf(mailbox, id),
      expected: 'no-stream',
      catalogue: mailbox.catalogue,
      facts: addMailbox(mailbox.initial, { ...ADD, number, email }),
    });
    await base.directory.waitFor(position);
  };
  await add(mailboxId, ADD.number);
  const entry = (): MailboxEntry => {
    const found = base.directory.state.mailboxes.get(mailboxId);
    if (!found) throw new Error('the mailbox is unknown');
    return found;
  };
  const whole = (): WholeMailbox => ({
    mailboxNumber: entry().number,
    folderNumbers: allSelectable(entry()).map(({ number }) => number),
  });
  const folderAt = (path: string): FolderEntry => {
    const found = entry().folders.find((folder) => folder.path === path);
    if (!found) throw new Error(`there is no folder ${path}`);
    return found;
  };
  let beside = 0;
  const closers: (() => Promise<void>)[] = [];
  const client = <T>(work: (own: ImapFlow) => Promise<T>): Promise<T> => withClient(imap, user, work);
  return {
    ports: base,
    events,
    index,
    gateway,
    mailboxId,
    client,
    addMailbox: async () => {
      beside += 1;
      const id = `${mailboxId}_beside${String(beside)}`;
      await add(id, ADD.number + beside);
      return id;
    },
    leases: async () => {
      const held = 'select mailbox_id from work.mailbox_lease where until > now()';
      return (await sql.query<{ mailbox_id: string }>(held)).map(({ mailbox_id: id }) => id);
    },
    pauseMailbox: async () => {
      const decide = (): readonly MailboxFact[] => [{ type: 'MailboxPaused', data: {} }];
      const author = systemAuthor(base, 'org_1');
      const { position } = await decideAndAppend(base, author, mailbox, { id: mailboxId, decide });
      await base.directory.waitFor(position ?? 0n);
    },
    entry,
    whole,
    folder: folderAt,
    work: (times, through = index) => {
      const leases = startLeases(sql, silentLog, { leaseMs: 2_000, renewEveryMs: 500 });
      const stopping = new AbortController();
      const ports = { ...base, leases };
      const all = {
        ports,
        directory,
        gateway,
        index: through,
        directUrl: database.url,
        times: { ...QUICK, ...times },
      };
      const done = runMailboxWorkers(all, stopping.signal);
      let ended: Promise<void> | null = null;
      const end = (): Promise<void> => {
        stopping.abort();
        ended ??= done.then(() => leases.close());
        return ended;
      };
      closers.push(end);
      return end;
    },
    told: () => toldOf(base, mailboxId, events, entry().folders),
    differences: () => differences(index, entry(), client),
    close: async () => {
      await Promise.all(closers.map((end) => end()));
      gateway.close();
      await pool.end();
      await database.drop();
    },
  };
}

function toldOf(
  ports: Ports,
  mailboxId: string,
  events: MemoryEventStore,
  folders: readonly FolderEntry[],
): ReturnType<SyncRig['told']> {
  const category = feedStream(mailboxId, new Date()).slice(0, -8);
  const changed = events.all.filter(
    ({ streamName, type }) => streamName.startsWith(category) && type === 'MailboxChangesObserved',
  );
  return changed.flatMap(({ data }) => {
    const { folder, changes } = data as { folder: number; changes: FeedChange[] };
    const path = folders.find(({ number }) => number === folder)?.path ?? '';
    return changes.map((change) => ({
      ...change,
      path,
      uid: ports.locators.openMessage(change.locator)?.uid ?? 0,
    }));
  });
}

const LAST_UID = 2 ** 32 - 1;

async function differences(
  index: PostgresMailIndex,
  { number: mailboxNumber, folders }: MailboxEntry,
  client: SyncRig['client'],
): Promise<readonly string[]> {
  return await client(async (own) => {
    const found: string[] = [];
    const listed = await own.list();
    for (const { path, flags } of listed.filter(({ flags: own }) => !own.has('\\Noselect'))) {
      const folder = folders.find((each) => each.path === path);
      if (!folder) {
        found.push(`${path} is unknown (${[...flags].join(' ')})`);
        continue;
      }
      found.push(
        ...(await folderDifferences(index, { mailboxNumber, folderNumber: folder.number }, own, path)),
      );
    }
    return found;
  });
}

async function folderDifferences(
  index: MailIndex,
  key: FolderKey,
  own: ImapFlow,
  path: string,
): Promise<readonly string[]> {
  const opened = await own.mailboxOpen(path, { readOnly: true });
  const mirror = await index.folder(key);
  const isWhole = mirror?.indexedFrom === 1 && mirror.uidValidity === Number(opened.uidValidity);
  const there = new Map<number, string>();
  if (opened.exists > 0) {
    for await (const { uid, flags } of own.fetch('1:*', { uid: true, flags: true }))
      there.set(uid, mirroredFlags(flags).join(' '));
  }
  const known = new Map(
    [...(await index.flagsOf(key, 1, LAST_UID))].map(([uid, flags]) => [uid, flags.toSorted().join(' ')]),
  );
  const uids = [...new Set([...there.keys(), ...known.keys()])].filter(
    (uid) => there.get(uid) !== known.get(uid),
  );
  return [
    ...(isWhole ? [] : [`${path} is not complete`]),
    ...uids.map(
      (uid) => `${path}/${String(uid)}: ${known.get(uid) ?? 'missing'}, not ${there.get(uid) ?? 'gone'}`,
    ),
  ];
}
