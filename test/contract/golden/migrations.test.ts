import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { expect } from 'chai';

const FOLDER = 'infra/postgres/migrations';
const RECORD = 'test/golden/migrations.json';

type Hashes = Readonly<Record<string, string>>;

const recorded = async (): Promise<Hashes> => JSON.parse(await readFile(RECORD, 'utf8')) as Hashes;

async function present(): Promise<Hashes> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.sql')).toSorted();
  const hashes = files.map(async (file) => {
    const text = await readFile(`${FOLDER}/${file}`);
    return [file, createHash('sha256').update(text).digest('hex')] as const;
  });
  return Object.fromEntries(await Promise.all(hashes));
}

/** A database refuses to start with a migration other than the one it applied. */
describe('migrations', () => {
  before(async () => {
    if (process.env['GOLDEN'] !== '1') return;
    // Only new ones are recorded: what was recorded before may have been applied.
    const all = { ...(await present()), ...(await recorded()) };
    await writeFile(RECORD, `${JSON.stringify(all, Object.keys(all).toSorted(), 2)}\n`);
  });

  it('never change once they are recorded', async () => {
    expect(
      await present(),
      'put a change into a new file, and record that with npm run golden',
    ).to.deep.equal(await recorded());
  });
});
