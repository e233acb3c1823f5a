/**
 * An account as Gmail stores it: one set of messages, and folders that show those with a label. Flags belong
 * to the message; removing it from a folder removes the label, and All Mail contains all but Trash and Spam.
 */
export const ALL_MAIL = '[Gmail]/All Mail';
export const TRASH = '[Gmail]/Trash';
export const SPAM = '[Gmail]/Spam';

/** Path, special use (RFC 6154), and the label that FETCH returns where it is not the path. */
export type SystemFolder = readonly [path: string, use: string, label: string | null];

const SYSTEM: readonly SystemFolder[] = [
  ['INBOX', '', '\\Inbox'],
  [ALL_MAIL, '\\All', null],
  ['[Gmail]/Drafts', '\\Drafts', '\\Draft'],
  ['[Gmail]/Important', '\\Important', '\\Important'],
  ['[Gmail]/Sent Mail', '\\Sent', '\\Sent'],
  [SPAM, '\\Junk', null],
  ['[Gmail]/Starred', '\\Flagged', '\\Starred'],
  [TRASH, '\\Trash', null],
];

const ALONE: readonly string[] = [TRASH, SPAM];

export interface LabelledMessage {
  readonly id: bigint;
  readonly raw: Buffer;
  readonly receivedAt: Date;
  flags: Set<string>;
  modseq: number;
}

export interface LabelFolder {
  readonly path: string;
  readonly use: string;
  readonly label: string | null;
  readonly uidValidity: number;
  uidNext: number;
  modseq: number;
  /** By UID, ascending. */
  readonly messages: Map<number, LabelledMessage>;
}

export interface Delivered {
  readonly raw: string | Buffer;
  readonly labels: readonly string[];
  readonly flags?: readonly string[];
  readonly receivedAt?: Date;
}

export class LabelledAccount {
  readonly folders = new Map<string, LabelFolder>();
  /** MODSEQ of the last change (CONDSTORE, RFC 7162). */
  modseq = 1;
  /** Called after each change. */
  readonly watchers = new Set<() => void>();
  #nextId = 2n ** 63n + 1_000n;

  constructor(system: readonly SystemFolder[] = SYSTEM) {
    for (const [path, use, label] of system) this.create(path, use, label);
  }

  create(path: string, use = '', label: string | null = path): void {
    const uidValidity = 600 + this.folders.size;
    this.folders.set(path, { path, use, label, uidValidity, uidNext: 1, modseq: 1, messages: new Map() });
  }

  folder(path: string): LabelFolder {
    const folder = this.folders.get(path.toUpperCase() === 'INBOX' ? 'INBOX' : path);
    if (!folder) throw new Error(`there is no ${path}`);
    return folder;
  }

  /** A new message, shown by its labels and by All Mail. */
  deliver({ labels, ...delivered }: Delivered): LabelledMessage {
    const message = this.newMessage(delivered);
    for (const path of labels) this.show(message, this.folder(path));
    if (!labels.some((path) => ALONE.includes(path))) this.show(message, this.folder(ALL_MAIL));
    this.tell();
    return message;
  }

  /** A message with the next id, in no folder. Servers keep whole seconds. */
  protected newMessage({
    raw,
    flags = [],
    receivedAt = new Date(),
  }: Omit<Delivered, 'labels'>): LabelledMessage {
    const id = this.#nextId;
    this.#nextId += 1n;
    const seconds = Math.floor(receivedAt.getTime() / 1_000);
    return {
      id,
      raw: Buffer.from(raw),
      receivedAt: new Date(seconds * 1_000),
      flags: new Set(flags),
      modseq: 0,
    };
  }

  /** Adds the folder's label to the message; returns its UID there, new or not. */
  copy(message: LabelledMessage, target: LabelFolder): number {
    if (ALONE.includes(target.path)) for (const folder of this.folders.values()) this.hide(message, folder);
    else {
      for (const path of ALONE) this.hide(message, this.folder(path));
      this.show(message, this.folder(ALL_MAIL));
    }
    const uid = this.show(message, target);
    this.tell();
    return uid;
  }

  /** Removes the folder's label. A message removed from All Mail, Trash or Spam leaves every folder. */
  remove(message: LabelledMessage, source: LabelFolder): void {
    const isWhole = source.path === ALL_MAIL || ALONE.includes(source.path);
    for (const folder of isWhole ? this.folders.values() : [source]) this.hide(message, folder);
    this.tell();
  }

  move(message: LabelledMessage, source: LabelFolder, target: LabelFolder): number {
    const uid = this.copy(message, target);
    // All Mail is not a label: a move out of it only adds one.
    if (source.path !== ALL_MAIL) this.hide(message, source);
    this.tell();
    return uid;
  }

  setFlags(message: LabelledMessage, flags: Set<string>): void {
    message.flags = flags;
    this.change(message, this.foldersOf(message));
    this.tell();
  }

  foldersOf(message: LabelledMessage): readonly LabelFolder[] {
    return [...this.folders.values()].filter((folder) => uidIn(folder, message) !== undefined);
  }

  protected show(message: LabelledMessage, folder: LabelFolder): number {
    const known = uidIn(folder, message);
    if (known !== undefined) return known;
    const uid = folder.uidNext;
    folder.uidNext += 1;
    folder.messages.set(uid, message);
    this.change(message, [folder]);
    return uid;
  }

  protected hide(message: LabelledMessage, folder: LabelFolder): void {
    const uid = uidIn(folder, message);
    if (uid === undefined) return;
    folder.messages.delete(uid);
    this.change(message, [folder]);
  }

  protected change(message: LabelledMessage, folders: readonly LabelFolder[]): void {
    this.modseq += 1;
    message.modseq = this.modseq;
    for (const folder of folders) folder.modseq = this.modseq;
  }

  protected tell(): void {
    for (const watcher of this.watchers) watcher();
  }
}

const uidIn = ({ messages }: LabelFolder, message: LabelledMessage): number | undefined =>
  [...messages].find(([, own]) => own === message)?.[0];
