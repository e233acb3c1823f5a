/** What the cases of altered files share. Most are built from seven lines. */
import { altered, type AuditCase, sevenLines } from './audit-case.ts';
import { type Entry, fileOf, put } from './sample-trail.ts';

export const bad = (name: string, code: string, record: number, file: Buffer): AuditCase => ({
  name,
  file,
  exit: 1,
  code,
  record,
});

export const seven = sevenLines();
export const LAST = 9;
export const sparse = { mode: 'sparse' };
/** Records are counted from 1: the header is 1, line n is n + 1. */
export const alter = (
  name: string,
  code: string,
  record: number,
  ...[change, header = {}]: readonly [(records: Entry[]) => void, Entry?]
): AuditCase => bad(name, code, record, altered(change, header));
export const replaced = (file: Buffer, from: string, to: string): Buffer =>
  Buffer.from(file.toString('latin1').replace(from, to), 'latin1');
export const base = altered(() => undefined);
/** Altered as text, with a trailer that fits. */
export const rewritten = (from: string, to: string): Buffer =>
  fileOf(
    base
      .toString()
      .trimEnd()
      .split('\n')
      .slice(0, -1)
      .map((line) => line.replace(from, to)),
    { lines: 7 },
  );
/** Altered in the text of a line or a body, which stands in its record as a string. */
export const rewrittenText = (from: string, to: string): Buffer => {
  const asString = (text: string): string => JSON.stringify(text).slice(1, -1);
  return rewritten(asString(from), asString(to));
};
export const shifted = (records: Entry[], by: number): void => {
  for (const record of records.filter(({ t }) => t === 'line'))
    put(record, 'line.seq', Number((record['line'] as Entry)['seq']) + by);
};

export const covered = (change: (records: Entry[]) => void, header: Entry = sparse): Buffer => {
  // The covers are [0..4), [4..6), [6].
  const records = seven.records(header, () => null);
  change(records);
  return fileOf(records);
};
