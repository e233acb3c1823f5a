/**
 * The MCP revisions this server supports and their differences here, as frozen data. Everything else behaves
 * alike.
 */
export interface ProtocolRevision {
  readonly name: string;
  /** A POST may hold an array of messages (removed in 2025-06-18). */
  readonly batches: boolean;
  /** Every request after `initialize` must name the revision; clients of 2025-03-26 send no header. */
  readonly versionHeaderRequired: boolean;
  /** Tools have `title` and `outputSchema`; earlier, the title is an annotation. */
  readonly describesOutput: boolean;
  /** Calls of some tools may run as tasks; other revisions ignore the request for one. */
  readonly tasks: boolean;
  /** Invalid arguments are a result with `isError`, which a model sees, not a JSON-RPC error (SEP-1303). */
  readonly argumentErrorsAsResults: boolean;
}

export const NEWEST_REVISION: ProtocolRevision = Object.freeze({
  name: '2025-11-25',
  batches: false,
  versionHeaderRequired: true,
  describesOutput: true,
  tasks: true,
  argumentErrorsAsResults: true,
});

/** The revisions with sessions, newest first: a client that requests another is offered the first. */
export const PROTOCOL_REVISIONS: readonly ProtocolRevision[] = Object.freeze([
  NEWEST_REVISION,
  Object.freeze({
    name: '2025-06-18',
    batches: false,
    versionHeaderRequired: true,
    describesOutput: true,
    tasks: false,
    argumentErrorsAsResults: false,
  }),
  Object.freeze({
    name: '2025-03-26',
    batches: true,
    versionHeaderRequired: false,
    describesOutput: false,
    tasks: false,
    argumentErrorsAsResults: false,
  }),
]);

export const PROTOCOL_REVISION_NAMES: readonly string[] = PROTOCOL_REVISIONS.map(({ name }) => name);

/** The revision without sessions; `initialize` never offers it. */
export const SESSIONLESS_REVISION: ProtocolRevision = Object.freeze({
  name: '2026-07-28',
  batches: false,
  versionHeaderRequired: true,
  describesOutput: true,
  tasks: false,
  argumentErrorsAsResults: true,
});

/** Names of the supported revisions, newest first. */
export const supportedRevisions = ({ sessionless }: { readonly sessionless: boolean }): readonly string[] =>
  sessionless ? [SESSIONLESS_REVISION.name, ...PROTOCOL_REVISION_NAMES] : PROTOCOL_REVISION_NAMES;

const byName: ReadonlyMap<string, ProtocolRevision> = new Map(
  PROTOCOL_REVISIONS.map((revision) => [revision.name, revision]),
);

/** The revision of that name, or null when this server does not support it. */
export const revisionNamed = (name: string): ProtocolRevision | null => byName.get(name) ?? null;

/** The revision `initialize` selects: the requested one, else the newest (MCP version negotiation). */
export const negotiateRevision = (requested: string): ProtocolRevision =>
  byName.get(requested) ?? NEWEST_REVISION;
