/** The events of sealing, in the stream `auditSeal-<trail>`: they are lines of the trail that they are about. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type PastFact } from '../values/event.ts';
import { instant } from '../values/event-fields.ts';

const size = z.int().min(0).describe('How many lines of the trail it covers.');
const root = z.string().describe('The root of the tree over them, base64.');
const epoch = z.int().min(1).describe('Counts from 1; a restore and an operator begin the next one.');
const note = z.string();

const AuditCheckpointSealed = defineEvent({
  type: 'AuditCheckpointSealed',
  summary: 'The trail was signed up to a line: a checkpoint that anyone can hold against it later.',
  data: z.object({ epoch, size, root, note }),
  webhook: {
    type: 'audit.checkpoint_sealed',
    data: z.object({
      trail: z.string().describe('The trail: the id of the organisation.'),
      epoch,
      size,
      root,
      note: note.describe('The checkpoint as a signed note (C2SP); store it outside.'),
    }),
    adds: ({ subject }) => ({ trail: subject }),
  },
});

export const EPOCH_REASONS = ['restore', 'operator'] as const;

const AuditEpochStarted = defineEvent({
  type: 'AuditEpochStarted',
  summary: 'Checkpoints from here on belong to a new epoch: the log was restored, or an operator says why.',
  data: z.object({
    epoch,
    reason: z.enum(EPOCH_REASONS),
    /** What the operator wrote; null after a restore. */
    comment: z.string().nullable(),
    /** The last checkpoint of the epoch before; null where none was signed. */
    previous_note: note.nullable(),
  }),
  webhook: null,
});

/**
 * `read_model`: the read model is not what the log says; sealing goes on by itself once it is rebuilt. With any other reason the log,
 * the keys or the memory of the sealer are not what was signed, and an operator has to begin a new epoch.
 */
export const BROKEN_REASONS = [
  'read_model',
  'root_differs',
  'log_is_shorter',
  'note_missing',
  'signature_differs',
  'key_missing',
  'memory_altered',
  'revision_missing',
  'anchor_differs',
] as const;
export type BrokenReason = (typeof BROKEN_REASONS)[number];

const AuditSealBroken = defineEvent({
  type: 'AuditSealBroken',
  summary:
    'The trail is not what was signed, or its read model is not what the log says: nothing more is signed.',
  data: z.object({
    /** The signed size, or the line, at which it differs. */
    size,
    reason: z.enum(BROKEN_REASONS),
  }),
  webhook: null,
});

const AuditVerified = defineEvent({
  type: 'AuditVerified',
  summary: 'The whole trail was computed again from the log and agrees with every checkpoint signed so far.',
  data: z.object({ size, root }),
  webhook: null,
});

export const ANCHOR_KINDS = ['file', 'webhook'] as const;

const AuditCheckpointAnchored = defineEvent({
  type: 'AuditCheckpointAnchored',
  summary: 'A checkpoint is stored outside of the gateway.',
  data: z.object({
    size,
    kind: z.enum(ANCHOR_KINDS),
    /** The file or the endpoint. */
    name: z.string(),
  }),
  webhook: null,
});

const AuditKeyRotated = defineEvent({
  type: 'AuditKeyRotated',
  summary: 'Checkpoints are signed with a new key; the old one signed it.',
  data: z.object({
    /** The new key, signed by both (`docs/audit-format.md` 7). */
    note,
  }),
  webhook: null,
});

const AuditKeyRevoked = defineEvent({
  type: 'AuditKeyRevoked',
  summary: 'A key may be in wrong hands: what only it signed beyond a size proves nothing.',
  data: z.object({
    vkey: z.string(),
    since: instant,
    size,
    /** What the operator wrote; null where none was asked for yet. */
    comment: z.string().nullable(),
  }),
  upcasters: [(data) => ({ ...data, comment: null })],
  webhook: null,
});

export const sealEvents = [
  AuditCheckpointSealed,
  AuditEpochStarted,
  AuditSealBroken,
  AuditVerified,
  AuditCheckpointAnchored,
  AuditKeyRotated,
  AuditKeyRevoked,
] as const;

export type SealEvent = (typeof sealEvents)[number];
export type SealFact = PastFact<SealEvent>;

export interface Checkpoint {
  readonly epoch: number;
  readonly size: number;
  readonly root: string;
  readonly note: string;
}

/** What the stream of a trail says of its sealing. */
export interface SealState {
  readonly epoch: number;
  /** The newest; null before the first. */
  readonly sealed: Checkpoint | null;
  /** Why nothing is signed; null while all is well. */
  readonly broken: BrokenReason | null;
  /** The largest size of this epoch that is in a file outside. */
  readonly anchored: number;
  /** The note of the last rotation; null before the first. */
  readonly rotation: string | null;
  /** As vkeys. */
  readonly revoked: readonly string[];
}

export const seal: Aggregate<SealState, SealEvent> = {
  category: 'auditSeal',
  catalogue: catalogueOf(sealEvents),
  initial: { epoch: 1, sealed: null, broken: null, anchored: 0, rotation: null, revoked: [] },
  evolve: (state, fact) => {
    switch (fact.type) {
      case 'AuditCheckpointSealed':
        return { ...state, sealed: fact.data, broken: null };
      case 'AuditEpochStarted':
        return { ...state, epoch: fact.data.epoch, broken: null, anchored: 0 };
      case 'AuditCheckpointAnchored':
        return { ...state, anchored: fact.data.size };
      case 'AuditKeyRotated':
        return { ...state, rotation: fact.data.note };
      case 'AuditKeyRevoked':
        return { ...state, revoked: [...state.revoked, fact.data.vkey] };
      case 'AuditSealBroken':
        return { ...state, broken: fact.data.reason };
      default:
        return state;
    }
  },
};
