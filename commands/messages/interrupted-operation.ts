/** A cut-off operation as it is looked up: its items, and what lies where their messages were. */
import type { MailboxEntry } from '../ports/directory.ts';
import type { MessageRef } from '../mail/message.ts';
import type { Locators } from '../ports/ports.ts';
import { relocates } from './actions.ts';
import type { ActionStep, ItemResult, OperationTarget } from '../operations/operation-events.ts';

export interface CutOff {
  readonly mailbox: MailboxEntry;
  readonly locators: Locators;
  readonly targets: readonly OperationTarget[];
  readonly steps: readonly ActionStep[];
  /** Null when the process ended before it could tell anything. */
  readonly results: readonly ItemResult[] | null;
}

/** One step on one message that was there when the operation began. */
export interface Item {
  readonly target: OperationTarget;
  readonly ref: MessageRef;
  readonly step: ActionStep;
  readonly index: number;
  /** What is certain already; null for an item that is looked up. */
  readonly known: ItemResult | null;
  /** What lies at the message's old place. */
  readonly source: {
    readonly present: boolean;
    readonly flags: readonly string[];
    /** The folder was made anew, or is gone: that nothing lies there says nothing. */
    readonly isReset: boolean;
  };
}

/** The message lay where it should go before anything was done. */
export const isInPlace = ({ step, ref }: Pick<Item, 'step' | 'ref'>): boolean =>
  relocates({ type: step.action }) && step.folder === ref.folder.number;
