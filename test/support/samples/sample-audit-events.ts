/** One sample of each event of sealing and of exports (`sample-events.ts`). */
import type { Sealed } from '../../../commands/values/sealed.ts';

const sealed = 'sealed.v1.usr_1.AAAA' as Sealed;
const at = '2026-01-01T00:00:00.000Z';

export const SAMPLE_AUDIT_EVENTS = {
  AuditCheckpointSealed: { epoch: 1, size: 3, root: 'AAAA', note: 'a note' },
  AuditEpochStarted: { epoch: 2, reason: 'restore', comment: null, previous_note: 'a note' },
  AuditSealBroken: { size: 3, reason: 'read_model' },
  AuditVerified: { size: 3, root: 'AAAA' },
  AuditCheckpointAnchored: { size: 3, kind: 'file', name: '3.txt' },
  AuditKeyRotated: { note: 'a note' },
  AuditKeyRevoked: { vkey: 'a key', since: at, size: 3, comment: 'A stolen disk.' },
  AuditDisclosed: { reason: sealed },
  AuditExported: {
    trail: 'org_a',
    epoch: 1,
    size: 9,
    from_seq: 1,
    to_seq: 9,
    filter: { type: 'PolicySet' },
    from: null,
    to: null,
    format: 'jsonl',
    mode: 'skeleton',
    disclose: 'none',
    version: 'a hash',
  },
} as const;
