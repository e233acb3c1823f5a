/** `admin hold`: lists legal holds, or releases one as the second where there is no second person. */
import { holdManagers } from '../../commands/legal-holds/hold-payload.ts';
import { releaseAsOperator } from '../../commands/legal-holds/manage-holds.ts';
import type { LegalHoldEntry } from '../../commands/ports/legal-holds.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { adminAuthor } from './call-command.ts';

export interface HoldArguments {
  readonly verb: string;
  readonly id: string | undefined;
  readonly reason: string | undefined;
}

type HoldPorts = Pick<Ports, 'events' | 'ids' | 'clock' | 'directory' | 'personal'>;

const MAX_REASON = 1_000;

/** Returns text for the terminal. Throws one sentence. */
export async function holdCommand(ports: HoldPorts, { verb, id, reason }: HoldArguments): Promise<string> {
  if (verb === 'list' && id === undefined && reason === undefined) return list(ports);
  if (verb === 'release' && id !== undefined) return await release(ports, id, reason);
  throw new Error('Say what to do: hold list, or hold release hld_… --reason TEXT.');
}

function list({ directory: { state } }: HoldPorts): string {
  const holds = [...state.legalHolds.values()];
  if (holds.length === 0) return 'There are no legal holds.';
  const lineOf = ({ id, orgId, state: now, name }: LegalHoldEntry): string =>
    `${id}  ${orgId}  ${now.padEnd(17)}  ${name}`;
  return holds.map(lineOf).join('\n');
}

async function release(ports: HoldPorts, id: string, given = ''): Promise<string> {
  const reason = given.trim();
  if (reason === '' || reason.length > MAX_REASON) {
    throw new Error(
      `Give a reason of at most ${String(MAX_REASON)} characters with --reason; it is kept encrypted in the audit trail.`,
    );
  }
  const { state } = ports.directory;
  const entry = state.legalHolds.get(id);
  if (!entry) throw new Error(`There is no legal hold ${id}.`);
  const released = await releaseAsOperator(ports, adminAuthor(ports, entry.orgId), { id, reason });
  if (released === null) return `${id} was released before.`;
  const people = holdManagers(state, entry.orgId);
  return people.length === 0
    ? `${id} is released. No person manages legal holds in ${entry.orgId}, so you were both people.`
    : `${id} is released; you were the second after ${entry.release?.requestedBy ?? ''}.`;
}
