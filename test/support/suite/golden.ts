/** Files under `test/golden` that contracts are compared with; `npm run golden` records them for review. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const FOLDER = join(import.meta.dirname, '../../golden');
const isRecording = process.env['GOLDEN'] === '1';

/** Objects in the order of their keys, arrays unchanged. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, sortKeys(part)]));
}

/** The text of a golden file for this value: strings unchanged, everything else as JSON with sorted keys. */
function goldenText(content: unknown): string {
  return typeof content === 'string' ? content : `${JSON.stringify(sortKeys(content), null, 2)}\n`;
}

/**
 * Compares `content` with `test/golden/<name>`, for example `openapi.json`; when recording, writes it there
 * instead. A missing file fails, so that a new contract is recorded on purpose.
 */
export async function expectGolden(name: string, content: unknown): Promise<void> {
  const path = join(FOLDER, name);
  const text = goldenText(content);
  if (isRecording) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    return;
  }
  const recorded = await readFile(path, 'utf8').catch(() => {
    throw new Error(`test/golden/${name} does not exist: record it with npm run golden and review it.`);
  });
  expect(text, `test/golden/${name} differs; if that is meant, run npm run golden`).to.equal(recorded);
}
