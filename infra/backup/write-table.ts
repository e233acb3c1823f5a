/** One table of the snapshot into one file. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { to as copyTo } from 'pg-copy-streams';
import { fileOf, type StoredFile } from './backup-manifest.ts';
import { type Report, RowTally } from './row-tally.ts';
import { copyTarget, type StoredTable } from './stored-tables.ts';
import type { Client } from 'pg';

export interface TableWriting {
  readonly folder: string;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** Streams the table as the client's transaction sees it; the file is on the disk, mode 600, when this resolves. */
export async function writeTable(
  client: Client,
  { name, columns }: StoredTable,
  { folder, report, signal }: TableWriting,
): Promise<StoredFile> {
  const file = fileOf(name);
  const hash = createHash('sha256');
  let bytes = 0;
  const tally = new RowTally(name, report);
  const rows = client.query(copyTo(`COPY ${copyTarget(name, columns)} TO STDOUT`));
  try {
    await pipeline(
      rows,
      (chunks) => tally.pass(chunks),
      createGzip(),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          bytes += chunk.length;
          yield chunk;
        }
      },
      createWriteStream(join(folder, file), { flags: 'wx', mode: 0o600, flush: true }),
      { signal },
    );
  } catch (cause) {
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${name} could not be saved: ${reason}`, { cause });
  }
  return { file, table: name, columns: [...columns], rows: tally.rows, bytes, sha256: hash.digest('hex') };
}
