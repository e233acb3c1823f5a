/**
 * `npm run bench [-- names…] [--sizes=1000,10k] [--record[=file]]`: bounded, loopback only, ratios within one
 * run. Without names every benchmark runs but the long ones, at sizes that take less than fifteen minutes together. `--sizes` are
 * messages of a mailbox (b2, b10), events of a log (b4, b5, b9), operations (b3, b11, read), mailboxes (b7) or
 * approvals (b12). `--record` makes the figures the baseline.
 */
import { BASELINE_FILE, readBaseline, recordResults } from './baseline.ts';
import { BENCHES } from './benches.ts';
import { readPeer } from './peer.ts';
import { runBenches } from './run-benches.ts';
import { tableOf } from './table.ts';

const args = process.argv.slice(2);
const names = args.filter((argument) => !argument.startsWith('--'));
const unknown = names.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0) throw new Error(`There is no benchmark called ${unknown.join(', ')}.`);
const asked = BENCHES.filter(({ name, isLong }) =>
  names.length === 0 ? isLong !== true : names.includes(name),
);

/** The value of `--name=value`; an empty text for `--name`. */
function option(name: string): string | null {
  const given = args.find((argument) => argument === `--${name}` || argument.startsWith(`--${name}=`));
  return given?.slice(name.length + 3) ?? null;
}

const sizes = option('sizes')
  ?.split(',')
  .map((size) => Number(size.replace(/k$/, '000')));
if (sizes?.some((size) => !Number.isInteger(size) || size <= 0))
  throw new Error('A size is a number, as in --sizes=1000,10k.');
const record = option('record');
const file = record === null || record === '' ? BASELINE_FILE : record;

const results = await runBenches(asked, sizes ?? null, (line) => process.stderr.write(`${line}\n`));
const compared = { baseline: readBaseline(file), peer: readPeer() };
process.stdout.write(tableOf(results, BENCHES, compared));
if (record !== null) {
  const known = BENCHES.map(({ name }) => name);
  recordResults(file, results, known);
}
if (results.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
