/** An account as most servers store it: each folder has its own messages. */
import {
  type Delivered,
  LabelledAccount,
  type LabelFolder,
  type LabelledMessage,
  type SystemFolder,
} from './fake-gmail/labelled-account.ts';

export class PlainAccount extends LabelledAccount {
  readonly #delimiter: string;
  #lastUidValidity = 700;

  constructor(paths: readonly string[], delimiter = '/') {
    super([]);
    this.#delimiter = delimiter;
    const uses: Readonly<Record<string, string>> = {
      Sent: '\\Sent', Drafts: '\\Drafts', Trash: '\\Trash', Archive: '\\Archive', Junk: '\\Junk',
    }; // prettier-ignore
    const system = paths.map((path): SystemFolder => [path, uses[path] ?? '', null]);
    for (const [path, use] of system) this.create(path, use);
  }

  /** Under a UIDVALIDITY that no folder ever had. */
  override create(path: string, use = ''): void {
    this.#lastUidValidity += 7;
    const uidValidity = this.#lastUidValidity;
    this.folders.set(path, {
      path,
      use,
      label: null,
      uidValidity,
      uidNext: 1,
      modseq: 1,
      messages: new Map(),
    });
  }

  delete(path: string): void {
    this.folder(path);
    this.folders.delete(path);
  }

  /** With the folders below it; UIDVALIDITY and UIDs stay (RFC 9051 6.3.6). */
  rename(from: string, to: string): void {
    for (const [path, folder] of [...this.folders]) {
      if (path !== from && !path.startsWith(from + this.#delimiter)) continue;
      const renamed = to + path.slice(from.length);
      this.folders.delete(path);
      this.folders.set(renamed, { ...folder, path: renamed });
    }
  }

  override deliver({ labels, ...delivered }: Delivered): LabelledMessage {
    const [path = 'INBOX'] = labels;
    const message = this.newMessage(delivered);
    this.show(message, this.folder(path));
    this.tell();
    return message;
  }

  override copy(message: LabelledMessage, target: LabelFolder): number {
    const uid = this.show({ ...message, flags: new Set(message.flags) }, target);
    this.tell();
    return uid;
  }

  override remove(message: LabelledMessage, source: LabelFolder): void {
    this.hide(message, source);
    this.tell();
  }

  override move(message: LabelledMessage, source: LabelFolder, target: LabelFolder): number {
    const uid = this.show({ ...message, flags: new Set(message.flags) }, target);
    this.hide(message, source);
    this.tell();
    return uid;
  }
}
