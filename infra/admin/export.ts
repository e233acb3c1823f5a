/** `npm run export -- --trail TRAIL --out FILE`: exports an audit trail into a file, with or without a running gateway. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { DISCLOSURES, EXPORT_FORMATS, FILE_MODES } from '../../commands/audit/export-events.ts';
import { InstantField } from '../../commands/values/input-fields.ts';
import { createJsonLog } from '../observability/json-log.ts';
import { loadConfig } from '../process/config.ts';
import { runCommand, say } from './run-command.ts';

const USAGE = `Usage:
  npm run export -- --trail TRAIL --out FILE
      [--from TIME] [--to TIME] [--from-seq N] [--to-seq N]
      [--actor ID] [--type TYPE] [--mailbox-id ID] [--request-id ID] [--approval-id ID]
      [--outcome OUTCOME] [--resource ID]
      [--mode complete|skeleton|sparse] [--format jsonl|csv] [--disclose none|people|all] [--reason TEXT]
      TRAIL is org_…, usr_…, or system. Repeat the command to continue an interrupted file.`;

const seq = z.coerce.number().int().min(1).optional();
const text = z.string().min(1).max(100).optional();
const Arguments = z.object({
  trail: z.string(),
  out: z.string().min(1),
  reason: z.string().min(1).max(1_000).optional(),
  from: InstantField.optional(),
  to: InstantField.optional(),
  from_seq: seq,
  to_seq: seq,
  actor: text,
  type: text,
  mailbox_id: text,
  request_id: text,
  approval_id: text,
  outcome: text,
  resource: text,
  mode: z.enum(FILE_MODES).optional(),
  format: z.enum(EXPORT_FORMATS).optional(),
  disclose: z.enum(DISCLOSURES).optional(),
});

const EVERY_MS = 2_000;

/** One line every two seconds, and the last. */
function progress(): (lines: number, total: number) => void {
  let reportedAt = performance.now();
  return (lines, total) => {
    if (performance.now() - reportedAt < EVERY_MS) return;
    reportedAt = performance.now();
    say(`${lines.toLocaleString('en')} of ${total.toLocaleString('en')} lines …`);
  };
}

function readArguments(args: readonly string[]): z.output<typeof Arguments> {
  const names = Object.keys(Arguments.shape);
  const options = Object.fromEntries(
    names.map((name) => [name.replaceAll('_', '-'), { type: 'string' as const }]),
  );
  const { values } = parseArgs({ args: [...args], options });
  const given = Object.entries(values).map(([name, value]) => [name.replaceAll('-', '_'), value]);
  const read = Arguments.safeParse(Object.fromEntries(given));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(`--${String(issue?.path[0]).replaceAll('_', '-')}: ${issue?.message ?? ''}\n\n${USAGE}`);
}

await runCommand(async (args, signal) => {
  const { trail, out, reason, ...wanted } = readArguments(args);
  const { openForAdmin } = await import('./open-for-command.ts');
  const { exportCommand } = await import('./export-command.ts');
  await using core = await openForAdmin(loadConfig(process.env), createJsonLog('error'));
  say(await exportCommand(core.ports, { trail, out, wanted, reason }, { report: progress(), signal }));
});
