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

/** The signature of most flipped files is the same, and takes Python longer than all the rest. */
const FLIPS = `
import functools, json, os, sys
sys.path.insert(0, sys.argv[1])
import ed25519
ed25519.verifies = functools.cache(ed25519.verifies)
from verify_audit import verify
flipped = os.path.join(sys.argv[2], "flipped.jsonl")
for name, key in json.loads(sys.argv[3]):
    file = open(name, "rb").read()
    for at in range(len(file)):
        with open(flipped, "wb") as to:
            to.write(file[:at] + bytes([file[at] ^ 1 << at % 8]) + file[at + 1:])
        if verify([flipped, "--key", key])["exit"] not in (1, 2):
            print(f"{name}: byte {at}", flush=True)
`;

/** The bytes of files of which the second verifier proves one with a flipped bit; it flips one of each. */
export async function provenWithFlipsInPython(files: readonly AuditCase[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'audit-flips-'));
  try {
    const written = files.map((one) => {
      const [file, , key] = writeCase(folder, one);
      return [file, key];
    });
    const args = ['-c', FLIPS, import.meta.dirname, folder, JSON.stringify(written)];
    return await new Promise((resolve, reject) => {
      execFile('python3', args, { timeout: 2 * WITHIN_MS }, (error, stdout) => {
        if (error === null) resolve(stdout);
        else reject(new Error('Python could not verify the files.', { cause: error }));
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
