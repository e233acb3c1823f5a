/** The types of `verify-audit.mjs`, which is plain JavaScript so that it runs anywhere as it is. */
export interface AuditOptions {
  /** Texts with a vkey in each line. */
  keys?: readonly string[];
  policy?: string;
  /** Texts of notes. */
  known?: readonly string[];
  witnesses?: readonly string[];
  quorum?: string | number;
  require?: readonly string[];
  distrust?: readonly string[];
}

export interface AuditResult {
  exit: 0 | 1 | 2 | 3;
  code: string | null;
  record: number | null;
  offset: number | null;
  /** All that applies; `code` is the first. */
  codes: readonly string[];
  facts: Readonly<Record<string, unknown>> | null;
}

export function verifyAudit(chunks: AsyncIterable<Uint8Array>, options?: AuditOptions): Promise<AuditResult>;
export function sentences(result: AuditResult): string[];
/** The value of a canonical text. */
export function parsed(text: string): unknown;
/** The same for the text of a line: at least the members that are looked at. */
export function lineOf(text: string): Readonly<Record<string, unknown>>;
export function canonicalJson(value: unknown): string;
export function hashOf(...parts: readonly (Uint8Array | string)[]): Uint8Array;
export function leafHash(line: string | Uint8Array, bodyHash: Uint8Array): Uint8Array;
export class Sha256 {
  update(bytes: Uint8Array): this;
  digest(): Uint8Array;
}
export class Tree {
  readonly size: number;
  push(level: number, hash: Uint8Array): void;
  /** In base64. */
  root(): string;
}
/** `wrong` is the code of what is not formed as it must be. */
export function parseNote(text: string): {
  readonly wrong: string | null;
  readonly size?: number;
  readonly root?: string;
};
export function isSigned(key: Uint8Array, signature: Uint8Array, text: string): Promise<boolean>;
