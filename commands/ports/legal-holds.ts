/** Legal holds as the directory has them. */
import type { Sealed } from '../values/sealed.ts';

export const HOLD_TARGETS = ['person', 'mailbox', 'draft', 'approval'] as const;
export const HOLD_STATES = ['active', 'release_requested', 'released'] as const;
export type HoldState = (typeof HOLD_STATES)[number];

/** What a legal hold names. */
export interface HoldTarget {
  readonly type: (typeof HOLD_TARGETS)[number];
  readonly id: string;
  /** Of a draft or an approval: its mailbox. */
  readonly mailboxId: string | null;
  /** Of an approval: the draft that it sends. */
  readonly draftId: string | null;
}

export interface LegalHoldEntry {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  /** Null when the event that placed it could not be read. */
  readonly reason: Sealed | null;
  readonly targets: readonly HoldTarget[];
  readonly state: HoldState;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly release: {
    readonly requestedAt: string;
    readonly requestedBy: string;
    readonly reason: Sealed;
    readonly releasedAt: string | null;
    readonly releasedBy: string | null;
  } | null;
  /** People and mailboxes whose erasure waits for it, or did. */
  readonly postponed: readonly string[];
}

/** Stays when the agent is deleted: a legal hold on a person is also about what their agents made. */
export interface AgentOwnersEntry {
  /** Of the agent. */
  readonly id: string;
  readonly orgId: string;
  /** Everybody who owned it. */
  readonly ownerIds: readonly string[];
  /** Who may be the last of them: one, or several where an event of the agent could not be read. */
  readonly lastOwnerIds: readonly string[];
}
