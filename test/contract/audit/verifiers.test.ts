/** Two verifiers, each written from `docs/audit-format.md` alone, answer every case alike. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { cases } from '../../support/audit/cases.ts';
import { flippable } from '../../support/audit/flipped.ts';
import {
  asProgram,
  forEachCase,
  forEachCaseInPython,
  provenWithFlipsInPython,
} from '../../support/audit/for-each-case.ts';
import { largeCase } from '../../support/audit/good-cases.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PYTHON = ['python3', join(ROOT, 'test/support/audit/verify_audit.py')];

function hasPython(): boolean {
  try {
    return execFileSync('python3', ['--version'], { encoding: 'utf8' }).startsWith('Python 3.');
  } catch {
    return false;
  }
}

function needsPython(test: Mocha.Context): void {
  if (hasPython()) return;
  if (process.env['CI'] === '1') throw new Error('Python 3 is missing.');
  test.skip();
}

describe('audit files', function () {
  this.timeout(600_000);

  it('are altered in each of the 51 ways that the cases are numbered by', () => {
    const numbers = new Set(
      cases.map(({ name }) => name.slice(0, 2)).filter((start) => /^\d\d$/.test(start)),
    );
    const all = Array.from({ length: 51 }, (_, n) => String(n + 1).padStart(2, '0'));
    expect([...numbers].toSorted()).to.deep.equal(all);
  });

  it('are verified by the program of the gateway', async () => {
    const program = asProgram([process.execPath, join(ROOT, 'infra/console/verify-audit.mjs')]);
    expect(await forEachCase(program, [...cases, largeCase()])).to.deep.equal([]);
  });

  it('are verified by a second program, in Python', async function () {
    needsPython(this);
    expect(await forEachCaseInPython(cases)).to.deep.equal([]);
    const some = cases.filter(({ exit }, index) => cases.findIndex((one) => one.exit === exit) === index);
    expect(await forEachCase(asProgram(PYTHON), some)).to.deep.equal([]);
  });

  it('are not proven by the program in Python either when a bit of any byte was flipped', async function () {
    needsPython(this);
    const files = flippable.map(({ name, file }) => ({ name, file, exit: 0, code: null }) as const);
    expect(await forEachCaseInPython(files)).to.deep.equal([]);
    expect(await provenWithFlipsInPython(files)).to.equal('');
  });
});
