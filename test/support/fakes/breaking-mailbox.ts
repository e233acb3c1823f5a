/** A mailbox that loses its connection or its caller at a chosen command, and records the real effects. */
import type { ActionOutcome, FlagChange } from '../../../commands/ports/mail-port.ts';
import type { FolderRef } from '../../../commands/mail/message.ts';
import { FakeMailbox } from './fake-mailbox.ts';

/** `connection`: the session continues without a server; `process`: no caller receives the answer. */
export interface Loss {
  /** Index of the command at which it occurs. */
  readonly at: number;
  /** Whether the server had executed the command. */
  readonly isDone: boolean;
  readonly of: 'connection' | 'process';
}

export class ProcessGone extends Error {
  constructor() {
    super('the process was killed');
    this.name = 'ProcessGone';
  }
}

type Outcomes = ReadonlyMap<number, ActionOutcome>;

export class BreakingMailbox extends FakeMailbox {
  loss: Loss | null = null;
  /** `<folder> <uid>` of each message a command changed, one list per command. */
  readonly effects: string[][] = [];
  #count = 0;

  override moveMessages(from: FolderRef, uidValidity: number, uids: readonly number[], to: FolderRef) {
    return this.#meet(from, uids, () => super.moveMessages(from, uidValidity, uids, to));
  }
  override copyMessages(from: FolderRef, uidValidity: number, uids: readonly number[], to: FolderRef) {
    return this.#meet(from, uids, () => super.copyMessages(from, uidValidity, uids, to));
  }
  override setFlags(folder: FolderRef, uidValidity: number, uids: readonly number[], change: FlagChange) {
    return this.#meet(folder, uids, () => super.setFlags(folder, uidValidity, uids, change));
  }
  override expungeMessages(folder: FolderRef, uidValidity: number, uids: readonly number[]) {
    return this.#meet(folder, uids, () => super.expungeMessages(folder, uidValidity, uids));
  }

  async #meet(folder: FolderRef, uids: readonly number[], work: () => Promise<Outcomes>): Promise<Outcomes> {
    const index = this.#count;
    this.#count += 1;
    const { loss } = this;
    const unknown = new Map(uids.map((uid): [number, ActionOutcome] => [uid, { outcome: 'unknown' }]));
    if (loss !== null && index > loss.at) return unknown;
    const isLost = loss?.at === index;
    if (!isLost || loss.isDone) this.effects.push(uids.map((uid) => `${folder.path} ${String(uid)}`));
    const outcomes = isLost && !loss.isDone ? unknown : await work();
    if (isLost && loss.of === 'process') throw new ProcessGone();
    return isLost ? unknown : outcomes;
  }
}
