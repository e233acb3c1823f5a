/** GET /audit/keys, and POST and GET /audit/verifications: what a verifier needs to trust, and the gateway's own verification. */
import { z } from 'zod';
import { originOf, vkeyOf } from '../../commands/audit/signed-note.ts';
import { defineCapability } from '../../commands/kernel/capability.ts';

const Empty = z.strictObject({});

const Key = z.object({
  vkey: z.string().describe('Give it to a verifier from outside of the file.'),
  status: z.enum(['active', 'retired', 'revoked']),
  from_size: z.int().describe('The lines that were sealed when it was made.'),
  to_size: z.int().optional(),
  since: z.string().optional().describe('Since when a revoked key may have been in wrong hands.'),
});
const Keys = z.object({ items: z.array(Key) });

interface KeyRow extends Record<string, unknown> {
  readonly public_key: Buffer;
  readonly name: string;
  readonly epoch: string;
  readonly status: 'active' | 'retired' | 'revoked';
  readonly from_size: string;
  readonly to_size: string | null;
  readonly since: Date | null;
}

export const listAuditKeys = defineCapability<z.output<typeof Empty>, z.output<typeof Keys>>({
  name: 'list_audit_keys',
  title: 'List the keys of the audit trail',
  summary: 'The public keys that sign its checkpoints, newest first.',
  description: 'Keys inside an audit file are not trusted: take them from here, and keep them.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/keys' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Empty,
  output: Keys,
  handle: async (_, { ports: { sql }, caller }) => {
    const rows = await sql.query<KeyRow>(
      `select k.public_key, w.name, w.epoch, k.from_size, k.to_size, k.revoked_since as since,
          case when revoked_at is not null then 'revoked' when retired_at is not null then 'retired' else 'active' end as status
         from vault.audit_key k, vault.audit_watch w where k.trail = $1 order by k.created_at desc, k.public_key`,
      [caller.org.id],
    );
    return { items: rows.map((row) => describeKey(caller.org.id, row)) };
  },
});

const describeKey = (trail: string, row: KeyRow): z.output<typeof Key> => ({
  vkey: vkeyOf({ name: originOf(row.name, trail, Number(row.epoch)), publicKey: row.public_key }),
  status: row.status,
  from_size: Number(row.from_size),
  ...(row.to_size === null ? {} : { to_size: Number(row.to_size) }),
  ...(row.since === null ? {} : { since: row.since.toISOString() }),
});

const Requested = z.object({ size: z.int().describe('How many lines it will cover at least.') });

export const verifyAudit = defineCapability<z.output<typeof Empty>, z.output<typeof Requested>>({
  name: 'verify_audit',
  title: 'Verify the audit trail',
  summary: 'Computes the whole trail again from the log.',
  description:
    'Runs in the background, at most once an hour for all trails of the installation; requests meanwhile join the next one. The ' +
    'outcome is a line (AuditVerified or AuditSealBroken), and GET /audit/verifications.',
  effect: 'write',
  access: { any: ['audit:export'] },
  rest: { method: 'post', path: '/audit/verifications', status: 202 },
  tool: null,
  idempotency: { kind: 'none' },
  input: Empty,
  output: Requested,
  handle: async (_, { ports: { sql }, caller }) => {
    await sql.query('update vault.audit_verification set asked_at = now()');
    const [row] = await sql.query<{ size: string }>('select size from read.audit_tree where trail = $1', [
      caller.org.id,
    ]);
    return { size: Number(row?.size ?? 0) };
  },
});

const Verification = z.object({
  state: z.enum(['none', 'verified', 'broken']).describe('none = this trail was not verified yet.'),
  size: z.int().nullable().describe('The lines that were verified.'),
  verified_at: z.string().nullable(),
  broken: z
    .object({
      size: z.int().describe('The first checkpoint or line that differs.'),
      reason: z.string(),
      epoch: z.int().describe('The epoch in which it was found; 0 where only an older version knew it.'),
    })
    .nullable(),
  epoch: z
    .int()
    .describe('The epoch of the next checkpoint. What was found in an earlier one no longer stops it.'),
  stopped: z
    .string()
    .nullable()
    .describe('Why nothing is signed in this epoch; null while signing continues.'),
  requested_at: z.string().nullable().describe('A request that no verification has answered yet.'),
});

interface VerifiedRow extends Record<string, unknown> {
  readonly epoch: string;
  readonly stopped: string | null;
  readonly found_in: string | null;
  readonly size: string | null;
  readonly verified_at: Date | null;
  readonly failed_size: string | null;
  readonly reason: string | null;
  readonly requested_at: Date | null;
}

/** The next signature finds it, too (`sign-checkpoint.ts`). */
const FOUND_NOW = `case when v.epoch = w.epoch and v.reason <> 'read_model' then v.reason end`;

export const getVerification = defineCapability<z.output<typeof Empty>, z.output<typeof Verification>>({
  name: 'get_audit_verification',
  title: 'Get the last verification',
  summary: 'When the trail was verified last, up to which line, and what was found.',
  description: 'The gateway verifies every trail once a day, and when it is asked to.',
  effect: 'read',
  access: { any: ['audit:read'] },
  rest: { method: 'get', path: '/audit/verifications' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Empty,
  output: Verification,
  handle: async (_, { ports: { sql }, caller }) => {
    const [row] = await sql.query<VerifiedRow>(
      `select coalesce(w.epoch, 1) as epoch, coalesce(t.broken, ${FOUND_NOW}) as stopped, r.asked_at as requested_at,
          v.size, v.verified_at, v.failed_size, v.reason, v.epoch as found_in
         from vault.audit_verification r left join vault.audit_watch w on true
         left join vault.audit_tree t on t.trail = $1 left join vault.audit_verified v on v.trail = $1`,
      [caller.org.id],
    );
    if (row === undefined) throw new Error('verifications are not recorded');
    return describeVerification(row);
  },
});

function describeVerification(row: VerifiedRow): z.output<typeof Verification> {
  const { size, verified_at: at, failed_size: failed, reason, found_in: foundIn } = row;
  const present = {
    epoch: Number(row.epoch),
    stopped: row.stopped,
    requested_at: row.requested_at?.toISOString() ?? null,
  };
  if (at === null) return { state: 'none', size: null, verified_at: null, broken: null, ...present };
  return {
    state: reason === null ? 'verified' : 'broken',
    size: Number(size),
    verified_at: at.toISOString(),
    broken: reason === null ? null : { size: Number(failed), reason, epoch: Number(foundIn) },
    ...present,
  };
}
