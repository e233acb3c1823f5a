import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { BULK, SavedBackup, writeManifest } from './saved-backup.ts';

describe('restore of a damaged backup', function () {
  this.timeout(120_000);
  let backup: SavedBackup;

  before(async () => {
    backup = await SavedBackup.make();
  });
  after(() => backup[Symbol.asyncDispose]());

  describe('refuses before it writes', () => {
    it('when the manifest is missing', async () => {
      const spoilt = await backup.copy();
      await rm(join(spoilt, 'manifest.json'));
      expect(await backup.refusal(spoilt)).to.match(
        /manifest\.json cannot be read: this is not a backup, or an incomplete one/,
      );
    });

    it('when the manifest is truncated', async () => {
      const spoilt = await backup.copy();
      await truncate(join(spoilt, 'manifest.json'), 200);
      expect(await backup.refusal(spoilt)).to.match(/manifest\.json is damaged \(no JSON\)/);
    });

    it('when the manifest lacks a part or names other files', async () => {
      const spoilt = await backup.copy();
      await writeManifest(spoilt, { ...backup.manifest, log: undefined });
      expect(await backup.refusal(spoilt)).to.match(/manifest\.json is damaged \(log: /);
      const outside = { ...backup.entry('vault.password'), file: '../vault.password.copy.gz' };
      await writeManifest(spoilt, { ...backup.manifest, files: [outside] });
      expect(await backup.refusal(spoilt)).to.match(
        /manifest\.json is damaged \(files\.0: the file is not named after/,
      );
      const injected = { ...backup.entry('vault.password'), columns: ['user_id", (select 1)'] };
      await writeManifest(spoilt, { ...backup.manifest, files: [injected] });
      expect(await backup.refusal(spoilt)).to.match(/manifest\.json is damaged \(files\.0\.columns\.0: /);
      await writeManifest(spoilt, { ...backup.manifest, files: [backup.entry('log.event')] });
      expect(await backup.refusal(spoilt)).to.match(
        /manifest\.json is damaged: it lists no vault\.gateway_key/,
      );
    });

    it('when the format is unknown', async () => {
      const spoilt = await backup.copy();
      await writeManifest(spoilt, { format: 2, everything: 'else' });
      expect(await backup.refusal(spoilt)).to.match(
        /manifest\.json is of format 2 and this version reads format 1/,
      );
    });

    it('when the schema is unknown', async () => {
      const spoilt = await backup.copy();
      await writeManifest(spoilt, {
        ...backup.manifest,
        schema: '9999-future.sql',
        gateway_version: '7.8.9',
      });
      expect(await backup.refusal(spoilt)).to.match(
        /manifest\.json names the database schema 9999-future\.sql, which this version does not know: restore it with gateway 7\.8\.9/,
      );
    });

    it('when a file is missing', async () => {
      const spoilt = await backup.copy();
      await rm(join(spoilt, 'vault.password.copy.gz'));
      expect(await backup.refusal(spoilt)).to.match(/vault\.password\.copy\.gz is missing or cannot be read/);
    });

    it('when a file is truncated', async () => {
      const spoilt = await backup.copy();
      await truncate(join(spoilt, 'log.event.copy.gz'), backup.entry('log.event').bytes - 1);
      expect(await backup.refusal(spoilt)).to.match(
        /log\.event\.copy\.gz is damaged: it has \d+ bytes, \d+ were written/,
      );
    });

    it('when one bit is flipped', async () => {
      const spoilt = await backup.copy();
      const path = join(spoilt, 'log.event.copy.gz');
      const content = await readFile(path);
      content[1000] = (content[1000] ?? 0) ^ 1;
      await writeFile(path, content);
      expect(await backup.refusal(spoilt)).to.match(
        /log\.event\.copy\.gz is damaged: its content is not what was written/,
      );
    });
  });

  describe('leaves nothing behind while loading', () => {
    const plain = async (table: string): Promise<string> =>
      gunzipSync(await readFile(join(backup.source, backup.entry(table).file))).toString();

    it('when the compression ends too early', async () => {
      const spoilt = await backup.copy();
      const content = await readFile(join(backup.source, 'log.event.copy.gz'));
      await backup.forge(spoilt, 'log.event', content.subarray(0, content.length - 100));
      expect(await backup.refusal(spoilt)).to.match(
        /log\.event\.copy\.gz is damaged: it cannot be loaded \(unexpected end of file\)/,
      );
    });

    it('when a row is malformed', async () => {
      const spoilt = await backup.copy();
      await backup.forge(spoilt, 'log.event', gzipSync(`${await plain('log.event')}nonsense\n`));
      expect(await backup.refusal(spoilt)).to.match(
        /log\.event\.copy\.gz is damaged: it cannot be loaded \(.*nonsense/,
      );
    });

    it('when an event is repeated', async () => {
      const spoilt = await backup.copy();
      const text = await plain('log.event');
      await backup.forge(
        spoilt,
        'log.event',
        gzipSync(text + text.slice(0, text.indexOf('\n') + 1)),
        BULK + 2,
      );
      expect(await backup.refusal(spoilt)).to.match(
        /log\.event\.copy\.gz is damaged: it cannot be loaded \(duplicate key/,
      );
    });

    it('when rows are missing', async () => {
      const spoilt = await backup.copy();
      const text = await plain('log.event');
      await backup.forge(spoilt, 'log.event', gzipSync(text.slice(text.indexOf('\n') + 1)));
      expect(await backup.refusal(spoilt)).to.match(
        /log\.event\.copy\.gz is damaged: it has 500 rows, 501 were written/,
      );
    });

    it('when a table is unlisted or listed twice', async () => {
      const spoilt = await backup.copy();
      const files = backup.manifest.files.filter(({ table }) => table !== 'log.event');
      await writeManifest(spoilt, { ...backup.manifest, files });
      expect(await backup.refusal(spoilt)).to.match(
        /manifest\.json is damaged: its files are not the tables .*log\.event/,
      );
      await writeManifest(spoilt, {
        ...backup.manifest,
        files: [...backup.manifest.files, backup.entry('vault.password')],
      });
      expect(await backup.refusal(spoilt)).to.match(
        /manifest\.json is damaged: its files are not the tables/,
      );
    });

    it('when the log ends at another position', async () => {
      const spoilt = await backup.copy();
      await writeManifest(spoilt, { ...backup.manifest, log: { ...backup.manifest.log, end: '1000' } });
      expect(await backup.refusal(spoilt)).to.match(/manifest\.json is damaged: it and the log do not agree/);
    });
  });
});
