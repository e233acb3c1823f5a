/** What the console reads of legal holds and of the audit trail (`contract.md` 12, 17); types only. */

export type HoldTargetType = 'person' | 'mailbox' | 'draft' | 'approval';
export type HoldState = 'active' | 'release_requested' | 'released';

export interface HoldTarget {
  type: HoldTargetType;
  id: string;
}

export interface NewHold {
  name: string;
  reason: string;
  targets: HoldTarget[];
}

export interface Hold extends Omit<NewHold, 'reason'> {
  id: string;
  /** Null once it was erased. */
  reason: string | null;
  state: HoldState;
  created_at: string;
  created_by: string;
  release: {
    requested_at: string;
    requested_by: string;
    reason: string | null;
    released_at: string | null;
    released_by: string | null;
  } | null;
  /** While its release is requested: who has to release it. */
  awaits: 'second_person' | 'operator' | null;
  /** People and mailboxes whose erasure waits for the release. */
  postponed_erasures: string[];
}

export type AuditOutcome = 'allowed' | 'denied' | 'pending' | 'failed';

/** A line of the trail. What is null of who and where is null only for an event that cannot be read. */
export interface TrailLine {
  id: string;
  seq: number;
  type: string;
  occurred_at: string | null;
  actor: {
    type: string | null;
    id: string | null;
    token_id: string | null;
    session_id: string | null;
    ip?: string;
    user_agent?: string;
  };
  surface: string | null;
  request_id: string | null;
  correlation_id: string | null;
  causation_id: string | null;
  resource: { type: string; id: string } | null;
  mailbox_id: string | null;
  approval_id?: string;
  action: string;
  outcome: AuditOutcome;
  policy?: Record<string, unknown>;
  /** Absent for a mailbox that the viewer may not see. */
  data?: Record<string, unknown>;
  /** Texts that the viewer may not see, and texts that were erased: JSON Pointers. */
  withheld?: string[];
  erased?: string[];
  position: string;
  hash: string;
  /** Of one line: the first checkpoint that covers it; null while none does. */
  seal?: Pick<Checkpoint, 'size' | 'root' | 'sealed_at' | 'anchors'> | null;
  /** Of the people and agents named here by id. */
  names: Record<string, string>;
}

/** What a list of lines is narrowed to; '' for everything. */
export interface TrailFilter {
  from: string;
  to: string;
  actor: string;
  type: string;
  mailbox_id: string;
  resource: string;
  outcome: string;
  request_id: string;
}

/** Where a checkpoint was stored outside of the gateway. */
export interface Anchor {
  kind: string;
  name: string;
  state: 'confirmed' | 'failed';
  at: string;
  error?: { code: string };
}

/** A signed checkpoint of the trail. */
export interface Checkpoint {
  trail: string;
  epoch: number;
  /** How many lines it covers. */
  size: number;
  root: string;
  origin: string;
  key_id: string;
  sealed_at: string;
  note: string;
  anchors: Anchor[];
}

/** The last time that the whole trail was computed again from the log. */
export interface Verification {
  state: 'none' | 'verified' | 'broken';
  size: number | null;
  verified_at: string | null;
  broken: { size: number; reason: string; epoch: number } | null;
  /** Of the next checkpoint. */
  epoch: number;
  /** Why nothing is signed in this epoch; null while signing continues. */
  stopped: string | null;
  /** A request that no verification has answered yet. */
  requested_at: string | null;
}

/** What is known of the seal of the trail. */
export interface SealFacts {
  /** The newest first. */
  checkpoints: Checkpoint[];
  verification: Verification;
  /** The newest line about a checkpoint that was stored outside; null without any. */
  anchored: TrailLine | null;
}

/** A public key of the trail. */
export interface TrailKey {
  vkey: string;
  status: 'active' | 'retired' | 'revoked';
}
