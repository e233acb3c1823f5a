/** A mailbox in memory that behaves like the port, with a connection that breaks where a test requires it. */
import type { ActionOutcome, FlagChange, MailSession, Sighting } from '../../../commands/ports/mail-port.ts';
import type { MailQueryAnswer } from '../../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef, MessageRef } from '../../../commands/mail/message.ts';

interface StoredMessage {
  readonly messageId: string | null;
  readonly flags: Set<string>;
}

interface StoredFolder {
  readonly uidValidity: number;
  uidNext: number;
  readonly messages: Map<number, StoredMessage>;
}

/** `before`: nothing happened when the connection broke; `after`: the server had executed the command. */
export type Break = 'before' | 'after';

export class FakeMailbox implements MailSession {
  readonly capabilities = {
    move: true,
    uidPlus: true,
    specialUse: true,
    condstore: true,
    idle: true,
    sharesMessages: false,
    names: [],
  };
  readonly #folders = new Map<string, StoredFolder>();
  /** The break at the next command that changes something. */
  breakNext: Break | null = null;
  /** Commands that changed something, in order. */
  readonly commands: string[] = [];

  folder(path: string): StoredFolder {
    let folder = this.#folders.get(path);
    if (!folder) {
      folder = { uidValidity: 1_000 + this.#folders.size, uidNext: 1, messages: new Map() };
      this.#folders.set(path, folder);
    }
    return folder;
  }

  add(path: string, messageId: string | null, flags: readonly string[] = []): number {
    const folder = this.folder(path);
    const uid = folder.uidNext;
    folder.uidNext += 1;
    folder.messages.set(uid, { messageId, flags: new Set(flags) });
    return uid;
  }

  /** Called before each command that changes something. */
  assertMayWrite: () => void = () => undefined;

  guardWrites(assertMayWrite: () => void): void {
    this.assertMayWrite = assertMayWrite;
  }

  async moveMessages(from: FolderRef, uidValidity: number, uids: readonly number[], to: FolderRef) {
    return this.#change('move', { folder: from, uidValidity, uids }, (uid, message) => {
      this.folder(from.path).messages.delete(uid);
      return this.#arrive(to, message);
    });
  }

  async copyMessages(from: FolderRef, uidValidity: number, uids: readonly number[], to: FolderRef) {
    return this.#change('copy', { folder: from, uidValidity, uids }, (_, message) =>
      this.#arrive(to, { ...message, flags: new Set(message.flags) }),
    );
  }

  async setFlags(folder: FolderRef, uidValidity: number, uids: readonly number[], change: FlagChange) {
    return this.#change('flags', { folder, uidValidity, uids }, (_, message) => {
      for (const flag of change.add) message.flags.add(flag);
      for (const flag of change.remove) message.flags.delete(flag);
      return { outcome: 'done', newUid: null, newUidValidity: null };
    });
  }

  async look(ref: FolderRef, uidValidity: number, uids: readonly number[]): Promise<Sighting> {
    const folder = this.folder(ref.path);
    const present = folder.uidValidity === uidValidity ? uids.filter((uid) => folder.messages.has(uid)) : [];
    return {
      presentUids: new Set(present),
      flagsByUid: new Map(present.map((uid) => [uid, [...(folder.messages.get(uid)?.flags ?? [])]])),
    };
  }

  async findByMessageId(ref: FolderRef, messageId: string, fromUid: number): Promise<readonly number[]> {
    return [...this.folder(ref.path).messages]
      .filter(([uid, message]) => uid >= fromUid && message.messageId === messageId)
      .map(([uid]) => uid);
  }

  async append(ref: FolderRef, raw: Uint8Array, flags: readonly string[]) {
    this.assertMayWrite();
    const head = Buffer.from(raw).toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
    const messageId = /^message-id:\s*(<[^>]*>)/im.exec(head)?.[1] ?? null;
    this.commands.push(`append ${ref.path} ${messageId ?? ''}`);
    return { uid: this.add(ref.path, messageId, flags), uidValidity: this.folder(ref.path).uidValidity };
  }

  async expungeMessages(folder: FolderRef, uidValidity: number, uids: readonly number[]) {
    return this.#change('expunge', { folder, uidValidity, uids }, (uid) => {
      this.folder(folder.path).messages.delete(uid);
      return { outcome: 'done', newUid: null, newUidValidity: null };
    });
  }

  async folderStatus(ref: FolderRef) {
    const { uidValidity, uidNext } = this.folder(ref.path);
    return { uidValidity, uidNext };
  }

  async fetch(refs: readonly MessageRef[]): Promise<readonly (FetchedMessage | null)[]> {
    return refs.map((ref) => {
      const folder = this.folder(ref.folder.path);
      const message = folder.uidValidity === ref.uidValidity ? folder.messages.get(ref.uid) : undefined;
      return message ? fetched(ref, message) : null;
    });
  }

  identify(refs: readonly MessageRef[]): Promise<readonly (FetchedMessage | null)[]> {
    return this.fetch(refs);
  }

  listFolders(): never {
    throw new Error('not asked of this mailbox');
  }
  createFolder(): never {
    throw new Error('not asked of this mailbox');
  }
  query(): Promise<MailQueryAnswer> {
    throw new Error('not asked of this mailbox');
  }
  describePart(): never {
    throw new Error('not asked of this mailbox');
  }
  readBytes(..._: Parameters<MailSession['readBytes']>): ReturnType<MailSession['readBytes']> {
    throw new Error('not asked of this mailbox');
  }

  #arrive(to: FolderRef, message: StoredMessage): ActionOutcome {
    const target = this.folder(to.path);
    const uid = target.uidNext;
    target.uidNext += 1;
    target.messages.set(uid, message);
    return { outcome: 'done', newUid: uid, newUidValidity: target.uidValidity };
  }

  #change(
    command: string,
    { folder, uidValidity, uids }: { folder: FolderRef; uidValidity: number; uids: readonly number[] },
    effect: (uid: number, message: StoredMessage) => ActionOutcome,
  ): ReadonlyMap<number, ActionOutcome> {
    this.assertMayWrite();
    const broken = this.breakNext;
    this.breakNext = null;
    this.commands.push(`${command} ${folder.path} ${uids.join(',')}`);
    const stored = this.folder(folder.path);
    return new Map(
      uids.map((uid): [number, ActionOutcome] => {
        const message = stored.uidValidity === uidValidity ? stored.messages.get(uid) : undefined;
        if (broken === 'before') return [uid, { outcome: 'unknown' }];
        if (!message) return [uid, { outcome: 'failed', reason: 'missing', text: 'gone' }];
        const outcome = effect(uid, message);
        return [uid, broken === 'after' ? { outcome: 'unknown' } : outcome];
      }),
    );
  }
}

const fetched = (ref: MessageRef, message: StoredMessage): FetchedMessage => ({
  ref,
  seen: message.flags.has('\\Seen'),
  flagged: message.flags.has('\\Flagged'),
  answered: message.flags.has('\\Answered'),
  draft: false,
  keywords: [],
  size: 100,
  receivedAt: new Date(0),
  sentAt: null,
  messageId: message.messageId,
  inReplyTo: null,
  references: [],
  subject: 'A subject',
  from: [{ name: null, email: 'sender@example.org' }],
  to: [],
  cc: [],
  bcc: [],
  replyTo: [],
  autoSubmitted: null,
  hasAttachments: false,
  attachments: [],
  threadRoot: message.messageId,
});
