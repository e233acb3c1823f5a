import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { bytesOf, readCopyFile } from '../../../../infra/backup/check-backup.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('readCopyFile', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-copy-'));
    file = join(folder, 'rows.gz');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('distinguishes NULL from text, and reverts the escapes of COPY', async () => {
    await writeFile(file, gzipSync('one\t\\N\t\\\\x00ff\n\t\\\\N\ttab \\t, line \\n, slash \\\\\n'));
    expect(await readCopyFile(file, ['a', 'b', 'c'])).to.deep.equal([
      { a: 'one', b: null, c: '\\x00ff' },
      { a: '', b: '\\N', c: 'tab \t, line \n, slash \\' },
    ]);
    expect(bytesOf('\\x00ff')).to.deep.equal(Buffer.of(0, 255));
  });

  it('yields no rows when the file has none', async () => {
    await writeFile(file, gzipSync(''));
    expect(await readCopyFile(file, ['a'])).to.deep.equal([]);
  });

  it('throws when the compressed data ends too early', async () => {
    await writeFile(file, gzipSync('one\n').subarray(0, 20));
    expect((await rejection(readCopyFile(file, ['a']))).message).to.equal('unexpected end of file');
  });
});
