import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';

const run = promisify(execFile);
const MAX_OUTPUT = 64 * 1024 * 1024;
const ROOT = join(import.meta.dirname, '../../..');
const FOLDERS = ['commands', 'projections', 'read-api', 'mcp', 'infra', 'test', 'bench'];
const CRUISER = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

const Output = z.object({ stdout: z.string(), stderr: z.string() });
const Violations = z.object({
  summary: z.object({
    violations: z.array(z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) })),
    ruleSetUsed: z.object({ forbidden: z.array(z.object({ name: z.string() })) }),
  }),
});

/** The checker's own words; it ends with the number of violations, so only an empty answer is a failure of its own. */
async function cruise(folder: string): Promise<z.output<typeof Violations>['summary']> {
  const args = [CRUISER, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...FOLDERS];
  const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, maxBuffer: MAX_OUTPUT }).catch(
    (error: unknown) => Output.parse(error),
  );
  expect(stdout, stderr).not.to.equal('');
  return Violations.parse(JSON.parse(stdout)).summary;
}

const LOADED_BY_THREADS = '../commands/html/css.ts';

/** One file per rule that breaks it and nothing else, with what it imports. */
const PLANTED: Readonly<Record<string, readonly [file: string, imported: string]>> = {
  'one-way-mcp': ['mcp/a.ts', '../infra/adapter.ts'],
  'one-way-read-api': ['read-api/a.ts', '../mcp/tool.ts'],
  'one-way-projections': ['projections/a.ts', '../read-api/query.ts'],
  'one-way-commands': ['commands/drafts/a.ts', '../../projections/rows.ts'],
  'no-tests-in-the-product': ['infra/a.ts', '../test/support.ts'],
  'markup-in-its-thread': ['infra/e.ts', LOADED_BY_THREADS],
  'areas-apart': ['commands/feed/a.ts', '../mailboxes/mailbox.ts'],
  'organisation-on-its-parts': ['commands/organisation/a.ts', '../feed/other.ts'],
  'accounts-on-no-area': ['commands/accounts/a.ts', '../mailboxes/mailbox.ts'],
  'commands-email': ['commands/email/floor.ts', '../legal-holds/below.ts'],
  'commands-approvals': ['commands/approvals/floor.ts', '../email/below.ts'],
  'commands-sending': ['commands/sending/floor.ts', '../approvals/below.ts'],
  'commands-drafts': ['commands/drafts/floor.ts', '../sending/below.ts'],
  'commands-messages': ['commands/messages/floor.ts', '../drafts/below.ts'],
  'commands-approver-notices': ['commands/approver-notices/floor.ts', '../messages/below.ts'],
  'commands-operations': ['commands/operations/floor.ts', '../messages/below.ts'],
  'commands-policy': ['commands/policy/floor.ts', '../operations/below.ts'],
  'commands-system-mail': ['commands/system-mail/floor.ts', '../policy/below.ts'],
  'commands-kernel': ['commands/kernel/floor.ts', '../policy/below.ts'],
  'commands-ports': ['commands/ports/floor.ts', '../kernel/below.ts'],
  'commands-mail': ['commands/mail/floor.ts', '../ports/below.ts'],
  'commands-html': ['commands/html/floor.ts', '../mail/below.ts'],
  'commands-values': ['commands/values/floor.ts', '../html/below.ts'],
  'edge-libraries-in-infra-only': ['projections/b.ts', 'pg'],
  'express-at-the-faces-only': ['read-api/b.ts', 'express'],
  'json-rpc-in-mcp-only': ['infra/b.ts', 'json-rpc-2.0'],
  'no-development-packages-in-the-product': ['infra/c.ts', 'chai'],
  'no-cycles': ['commands/kernel/b.ts', './c.ts'],
  'no-barrels': ['mcp/b.ts', './index.ts'],
  'no-unresolvable': ['infra/d.ts', './nowhere.ts'],
  'no-dead-declaration': ['projections/forgotten.ts', '../commands/values/ids.ts'],
};

const CLEAN = {
  'infra/adapter.ts': '../mcp/tool.ts',
  'mcp/tool.ts': '../read-api/query.ts',
  'mcp/index.ts': './tool.ts',
  'read-api/query.ts': '../projections/rows.ts',
  'projections/rows.ts': '../commands/mailboxes/mailbox.ts',
  'commands/mailboxes/mailbox.ts': '../values/ids.ts',
  'commands/feed/other.ts': '../values/ids.ts',
  'commands/legal-holds/below.ts': '../values/ids.ts',
  'commands/email/below.ts': '../values/ids.ts',
  'commands/approvals/below.ts': '../values/ids.ts',
  'commands/sending/below.ts': '../values/ids.ts',
  'commands/drafts/below.ts': '../values/ids.ts',
  'commands/messages/below.ts': '../values/ids.ts',
  'commands/operations/below.ts': '../values/ids.ts',
  'commands/policy/below.ts': '../values/ids.ts',
  'commands/kernel/below.ts': '../values/ids.ts',
  'commands/ports/below.ts': '../values/ids.ts',
  'commands/mail/below.ts': '../values/ids.ts',
  'commands/html/below.ts': '../values/ids.ts',
  'commands/html/css.ts': '../values/ids.ts',
  'commands/values/ids.ts': 'zod',
  'commands/kernel/c.ts': './b.ts',
  'test/support.ts': '../infra/adapter.ts',
  'bench/bench.ts': '../infra/adapter.ts',
};

async function plant(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-imports-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const file of ['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json']) {
    await cp(join(ROOT, file), join(folder, file));
  }
  const files = [...Object.entries(CLEAN), ...Object.values(PLANTED)];
  for (const [file, imported] of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    // By type only, which counts too; these do harm only when they are really loaded.
    const keyword = ['chai', LOADED_BY_THREADS].includes(imported) ? 'import' : 'import type';
    await writeFile(
      join(folder, file),
      `${keyword} * as other from '${imported}';\nexport type T = typeof other;\n`,
    );
  }
  const reached = files.map(([file]) => file).filter((file) => file !== 'projections/forgotten.ts');
  await mkdir(join(folder, 'infra/process'), { recursive: true });
  await writeFile(
    join(folder, 'infra/process/main.ts'),
    reached
      .filter((file) => !/^(test|bench)\//.test(file))
      .map((file, index) => `import type * as m${String(index)} from '../../${file}';\n`)
      .join(''),
  );
  return folder;
}

describe('import rules', function () {
  // It reads every source.
  this.timeout(120_000);
  it('hold for the sources', async () => {
    const { violations } = await cruise(ROOT);
    expect(violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).to.deep.equal([]);
  });

  describe('import rules on planted files', () => {
    let folder: string;
    let summary: Awaited<ReturnType<typeof cruise>>;

    before(async () => {
      folder = await plant();
      summary = await cruise(folder);
    });
    after(() => rm(folder, { recursive: true, force: true }));

    it('reject one planted file each', () => {
      const rules = summary.ruleSetUsed.forbidden.map(({ name }) => name);
      expect(rules).to.have.members(Object.keys(PLANTED));
    });

    for (const [rule, [file]] of Object.entries(PLANTED)) {
      it(`${rule} reports ${file}`, () => {
        const reported = summary.violations.filter((violation) => violation.rule.name === rule);
        const files = reported.map(({ from, to }) => (rule === 'no-dead-declaration' ? to : from));
        expect(files).to.include(file);
      });
    }

    it('accept a planted file that keeps them', () => {
      const innocent = new Set(Object.keys(CLEAN).filter((file) => !['commands/kernel/c.ts'].includes(file)));
      const wrong = summary.violations.filter(
        ({ from, rule }) => innocent.has(from) && rule.name !== 'no-dead-declaration',
      );
      expect(wrong).to.deep.equal([]);
    });
  });
});
