/** Proofs that need no file: of one line (C2SP tlog-proof), and between two sizes (RFC 9162 2.1.4). */
import { z } from 'zod';
import { consistencyPath, inclusionPath, type LeafRange } from '../../commands/audit/merkle.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { ByteAnswer } from '../../commands/values/byte-streams.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import { getAudit } from '../../projections/audit-queries.ts';
import { rangeRoot, TREE_VIEWS } from '../../projections/audit-tree.ts';
import { checkpointAt } from './checkpoints.ts';

const MEDIA_TYPE = 'text/plain';
/** About when the next checkpoint is due. */
const ASK_AGAIN_SECONDS = 60;

async function hashesOf(sql: Sql, trail: string, path: readonly LeafRange[]): Promise<readonly string[]> {
  const hashes: string[] = [];
  for (const range of path) hashes.push(base64(await rangeRoot(sql, TREE_VIEWS, trail, range)));
  return hashes;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const ProofInput = z.strictObject({ event_id: z.string().min(1).max(64) });

export const getAuditProof = defineCapability<z.output<typeof ProofInput>, ByteAnswer>({
  name: 'get_audit_proof',
  title: 'Prove an audit line',
  summary: 'That one line is in the trail, as a C2SP tlog-proof.',
  description:
    'The index of the line, the hashes up to the root, and the signed checkpoint. The leaf is the hash of the line. 503 seal_behind ' +
    'until a checkpoint covers it.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/:event_id/proof', answerBytes: MEDIA_TYPE },
  tool: null,
  errors: ['seal_behind'],
  idempotency: { kind: 'none' },
  input: ProofInput,
  output: ByteAnswer,
  handle: async ({ event_id }, context) => {
    const proof = Buffer.from(await proofOf(context, event_id));
    return {
      contentType: `${MEDIA_TYPE}; charset=utf-8`,
      filename: `${event_id}.tlog-proof`,
      knownLength: proof.length,
      length: () => Promise.resolve(proof.length),
      read: async function* (from) {
        yield proof.subarray(from);
      },
    };
  },
});

async function proofOf({ ports: { sql }, caller }: Context, eventId: string): Promise<string> {
  const trail = caller.org.id;
  const entry = await getAudit(sql, trail, eventId);
  if (!entry) throw notFound('audit event');
  const checkpoint = await checkpointAt(sql, trail, entry.seq);
  if (checkpoint === null) {
    throw new GatewayError('seal_behind', 'No checkpoint covers this line yet; ask again shortly.', {
      retryAfterSeconds: ASK_AGAIN_SECONDS,
    });
  }
  const index = entry.seq - 1;
  const hashes = await hashesOf(sql, trail, inclusionPath(index, checkpoint.size));
  return ['c2sp.org/tlog-proof@v1', `index ${String(index)}`, ...hashes, '', checkpoint.note].join('\n');
}

const Size = z
  .string()
  .regex(/^[1-9][0-9]{0,14}$/)
  .describe('A number of lines, from 1 to the size of the latest checkpoint.');
const ConsistencyInput = z.strictObject({ from: Size, to: Size });

const SizedRoot = z.object({ size: z.int(), root: z.string() });
const Consistency = z.object({
  from: SizedRoot,
  to: SizedRoot,
  hashes: z.array(z.string()).describe('As in RFC 6962 2.1.2, base64; empty where both are the same.'),
});

export const getConsistency = defineCapability<
  z.output<typeof ConsistencyInput>,
  z.output<typeof Consistency>
>({
  name: 'get_checkpoint_consistency',
  title: 'Prove that the trail only grew',
  summary: 'That the lines of one size are the first lines of a larger one.',
  description: 'The roots of both sizes and the hashes between them. `from` is at most `to`.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/checkpoints/consistency' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ConsistencyInput,
  output: Consistency,
  handle: async (input, { ports: { sql }, caller }) => {
    const trail = caller.org.id;
    const [from, to] = [Number(input.from), Number(input.to)];
    const latest = await checkpointAt(sql, trail, 'latest');
    if (from > to) throw badSize('from', 'from is larger than to.');
    if (to > (latest?.size ?? 0)) throw badSize('to', 'The latest checkpoint has fewer lines.');
    const rootAt = async (size: number) => ({
      size,
      root: base64(await rangeRoot(sql, TREE_VIEWS, trail, { from: 0, to: size })),
    });
    return {
      from: await rootAt(from),
      to: await rootAt(to),
      hashes: [...(await hashesOf(sql, trail, consistencyPath(from, to)))],
    };
  },
});

const badSize = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, {
    details: { issues: [{ path, code: 'custom', message }] },
  });
