/** Two verifiers, each written from `docs/audit-format.md` alone, answer every case alike. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { cases } from '../../support/audit/cases.ts';
import { asProgram, forEachCase, forEachCaseInPython } from '../../support/audit/for-each-case.ts';
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

describe('audit files', function () {
  this.timeout(600_000);

  it('are verified by the program of the gateway', async () => {
    const program = asProgram([process.execPath, join(ROOT, 'infra/console/verify-audit.mjs')]);
    expect(await forEachCase(program, [...cases, largeCase()])).to.deep.equal([]);
  });

  it('are verified by a second program, in Python', async function () {
    if (!hasPython()) {
      if (process.env['CI'] === '1') throw new Error('Python 3 is missing.');
      return this.skip();
    }
    expect(await forEachCaseInPython(cases)).to.deep.equal([]);
    const some = cases.filter(({ exit }, index) => cases.findIndex((one) => one.exit === exit) === index);
    expect(await forEachCase(asProgram(PYTHON), some)).to.deep.equal([]);
  });
});
