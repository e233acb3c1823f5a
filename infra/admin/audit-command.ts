/** `admin audit`: what only the operator decides about the sealing of audit trails. */
import { z } from 'zod';
import type { Sealer } from '../audit/sealer.ts';

export interface AuditArguments {
  readonly verb: string;
  readonly reason?: string | undefined;
  readonly trail?: string | undefined;
  readonly key?: string | undefined;
  readonly since?: string | undefined;
}

type Seals = Pick<Sealer, 'newEpoch' | 'keys'>;

const MAX_REASON = 1_000;

const VERBS: Readonly<
  Record<
    string,
    { readonly takes: readonly string[]; run(seals: Seals, given: AuditArguments): Promise<string> }
  >
> = {
  'new-epoch': { takes: ['reason'], run: newEpoch },
  'rotate-key': { takes: ['trail'], run: rotateKey },
  'revoke-key': { takes: ['trail', 'key', 'since', 'reason'], run: revokeKey },
};

/** Returns text for the terminal. Throws one sentence. */
export async function auditCommand(seals: Seals, given: AuditArguments): Promise<string> {
  const { verb, ...options } = given;
  const command = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  if (command === undefined)
    throw new Error(`Say what to do: audit ${Object.keys(VERBS).join(', or audit ')}.`);
  const named = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (named.some((name) => !command.takes.includes(name)))
    throw new Error(`audit ${verb} takes ${command.takes.map((name) => `--${name}`).join(', ')}.`);
  return await command.run(seals, given);
}

async function newEpoch(seals: Seals, { reason }: AuditArguments): Promise<string> {
  const epoch = await seals.newEpoch(reasonIn(reason, 'every audit trail'));
  return `Epoch ${String(epoch)} begins with the next checkpoint of each trail. Checkpoints of earlier epochs stay readable.`;
}

async function rotateKey({ keys }: Seals, { trail }: AuditArguments): Promise<string> {
  const vkey = await keys.rotate(trailOf(trail));
  return `The new key signs from the next checkpoint on, the old one also for 30 days. Keep both outside:\n${vkey}`;
}

async function revokeKey({ keys }: Seals, { trail, key, since, reason }: AuditArguments): Promise<string> {
  if (key === undefined) throw new Error('Name the key with --key, as GET /audit/keys shows it.');
  const time = z.iso.datetime({ offset: true }).safeParse(since);
  if (!time.success)
    throw new Error('Say since when it may be in wrong hands: --since 2026-01-31T12:00:00Z.');
  const comment = reasonIn(reason, 'the audit trail');
  const next = await keys.revoke(trailOf(trail), { vkey: key, since: new Date(time.data), comment });
  return next === null
    ? 'The key is revoked and signs nothing.'
    : `The key is revoked and signs nothing. No old key speaks for the new one: give it to those who verify.\n${next}`;
}

function trailOf(trail: string | undefined): string {
  if (trail === undefined || trail === '')
    throw new Error('Name the trail with --trail: the id of the organisation, or system.');
  return trail;
}

function reasonIn(given: string | undefined, shownIn: string): string {
  const reason = (given ?? '').trim();
  if (reason === '' || reason.length > MAX_REASON) {
    throw new Error(
      `Give a reason of at most ${String(MAX_REASON)} characters with --reason; ${shownIn} shows it in clear.`,
    );
  }
  return reason;
}
