/** The events of an export, in the stream `auditExport-<aex_ id>`: an export is a line of the trail that it shows. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact } from '../values/event.ts';
import { instant, sealedText } from '../values/event-fields.ts';

export const EXPORT_FORMATS = ['jsonl', 'csv'] as const;
export const EVIDENCE_FORMATS = ['jsonl', 'html'] as const;
export const DISCLOSURES = ['none', 'people', 'all'] as const;
export type Disclosure = (typeof DISCLOSURES)[number];
export const FILE_MODES = ['complete', 'skeleton', 'sparse'] as const;
export type FileMode = (typeof FILE_MODES)[number];

const id = z.string().optional();

/** Everything that decides which bytes the file has. */
const AuditExported = defineEvent({
  type: 'AuditExported',
  summary: 'Lines of the audit trail were exported; recorded before the first byte was sent.',
  data: z.object({
    trail: z.string(),
    /** Of the checkpoint that the file is about. */
    epoch: z.int(),
    size: z.int(),
    from_seq: z.int(),
    to_seq: z.int(),
    filter: z
      .object({
        actor: id,
        approval_id: id,
        mailbox_id: id,
        outcome: id,
        request_id: id,
        resource: id,
        type: id,
      })
      .nullable(),
    /** The times asked for: times do not always grow with the lines, so the range may also hold lines of other times. */
    from: instant.nullable(),
    to: instant.nullable(),
    format: z.enum([...EXPORT_FORMATS, ...EVIDENCE_FORMATS]),
    /** Of evidence: the approval that it is about. Such a file cannot be had in parts. */
    approval_id: id,
    /** Null for CSV, which proves nothing. */
    mode: z.enum(FILE_MODES).nullable(),
    disclose: z.enum(DISCLOSURES),
    /** A hash of what else the bytes depend on: rights of the caller, erasures, the version of the read model. */
    version: z.string(),
  }),
  webhook: null,
});

const AuditDisclosed = defineEvent({
  type: 'AuditDisclosed',
  summary: 'An owner opened the texts of every mailbox in an export, and says why.',
  data: z.object({
    /** Sealed under the key of the person. */
    reason: sealedText,
  }),
  webhook: null,
});

export const exportEvents = [AuditDisclosed, AuditExported] as const;
type ExportEvent = (typeof exportEvents)[number];
type Reason = z.output<typeof AuditDisclosed.data>['reason'];
export type ExportTerms = z.output<typeof AuditExported.data>;

/** An export as it was recorded. */
export interface RecordedExport {
  readonly terms: ExportTerms;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly requestId: string;
}

interface ExportState {
  readonly recorded: RecordedExport | null;
  /** Why texts of every mailbox are opened; null where they are not. */
  readonly reason: Reason | null;
}

export const auditExport: Aggregate<ExportState, ExportEvent> = {
  category: 'auditExport',
  catalogue: catalogueOf(exportEvents),
  initial: { recorded: null, reason: null },
  evolve: (state, fact) =>
    fact.type === 'AuditDisclosed'
      ? { ...state, reason: fact.data.reason }
      : {
          ...state,
          recorded: {
            terms: fact.data,
            createdAt: fact.meta.occurred_at,
            createdBy: fact.meta.actor.id,
            requestId: fact.meta.request_id,
          },
        },
};

/** The lines of a new export. `reason`: why texts of every mailbox are opened; null where they are not. */
export const recordExport = (terms: ExportTerms, reason: Reason | null): readonly Fact<ExportEvent>[] => [
  ...(reason === null ? [] : [{ type: 'AuditDisclosed' as const, data: { reason } }]),
  { type: 'AuditExported', data: terms },
];
