/** An interrupted operation as it is reconciled: its items, and what is at their old places. */
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
  /** Null when the process ended before it recorded any. */
  readonly results: readonly ItemResult[] | null;
}

/** One step on one message that was there when the operation began. */
export interface Item {
  readonly target: OperationTarget;
  readonly ref: MessageRef;
  readonly step: ActionStep;
  readonly index: number;
  /** The certain result; null for an open item. */
  readonly known: ItemResult | null;
  /** What is at the message's old place. */
  readonly source: {
    readonly present: boolean;
    readonly flags: readonly string[];
    /** The folder was recreated or is gone: an empty place proves nothing. */
    readonly isReset: boolean;
  };
}

/** True when the message was in its destination before anything was done. */
export const isInPlace = ({ step, ref }: Pick<Item, 'step' | 'ref'>): boolean =>
  relocates({ type: step.action }) && step.folder === ref.folder.number;
