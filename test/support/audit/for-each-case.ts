/** Runs any verifier of audit files on every case. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Answer, answerOf, type AuditCase, writeCase } from './audit-case.ts';

const AT_ONCE = 3;
const WITHIN_MS = 60_000;

type Verify = (args: readonly string[]) => Promise<Answer>;

function read(text: string): Answer {
  const { exit, code, record, offset } = JSON.parse(text) as Answer;
  return { exit, code, record, offset };
}

/** Starts the command for each case; what it prints and its exit status say the same. */
export const asProgram =
  ([program = '', ...first]: readonly string[]): Verify =>
  (args) =>
    new Promise((resolve, reject) => {
      execFile(program, [...first, ...args], { timeout: WITHIN_MS }, (error, stdout, stderr) => {
        const status = error === null ? 0 : Number(error.code);
        try {
          const answer = read(stdout);
          if (answer.exit === status) resolve(answer);
          else reject(new Error(`${args.join(' ')}: it printed ${stdout} and ended with ${String(status)}`));
        } catch {
          reject(new Error(`${args.join(' ')}: ${stdout} ${stderr}`));
        }
      });
    });

/** Lists the cases that the verifier answers otherwise than the table says. */
export async function forEachCase(verify: Verify, cases: readonly AuditCase[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'audit-cases-'));
  const wrong: string[] = [];
  const queue = [...cases];
  const work = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const answer = JSON.stringify(await verify(writeCase(folder, one)));
      const expected = JSON.stringify(answerOf(one));
      if (answer !== expected) wrong.push(`${one.name}: expected ${expected}, got ${answer}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return wrong;
}

const LOOP = `
import json, sys
sys.path.insert(0, sys.argv[1])
from verify_audit import verify
for line in sys.stdin:
    print(json.dumps(verify(json.loads(line))), flush=True)
`;

/** Every case in one process of Python, which starts slowly. */
export async function forEachCaseInPython(cases: readonly AuditCase[]): Promise<readonly string[]> {
  const child = spawn('python3', ['-c', LOOP, import.meta.dirname], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: ((answer: Answer) => void)[] = [];
  createInterface(child.stdout).on('line', (line) => waiting.shift()?.(read(line)));
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      reject(new Error(`Python ended with ${String(code)}`));
    });
  });
  const ask: Verify = (args) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      child.stdin.write(`${JSON.stringify(args)}\n`);
    });
  try {
    return await Promise.race([forEachCase(ask, cases), ended]);
  } finally {
    ended.catch(() => undefined);
    child.stdin.end();
  }
}
