/** One operation for a caller who may see it, with its audit trail. */
import { assertMayRead, type Sight, sightOf } from '../../commands/approvals/operation-sight.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { type Loaded, loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { notFound } from '../../commands/values/errors.ts';
import { operation, type OperationState } from '../../commands/operations/operation.ts';
import { listAudit } from '../../projections/audit-queries.ts';
import { recordSeen } from '../approvals/approval-access.ts';
import { type AuditLine, describeLine } from '../audit/audit-line.ts';
import { described, type Operation } from './operation-view.ts';

export interface FoundOperation extends Loaded<OperationState> {
  readonly id: string;
  readonly sight: Sight;
}

/** Throws `not_found` for an unknown operation and for one the caller may not see, `insufficient_scope` like `assertMayRead`. */
export async function findOperation(
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  id: string,
): Promise<FoundOperation> {
  const loaded = await loadAggregate(ports.events, operation, id);
  const sight = await sightOf({ caller, ports }, loaded.state);
  if (sight === null) throw notFound('operation');
  assertMayRead(caller, loaded.state);
  return { ...loaded, id, sight };
}

/** Records a read by a caller who sees it only as an approver; throws `store_unavailable` when that fails. */
export async function showOperation(
  context: Context,
  { id, state, sight }: FoundOperation,
): Promise<Operation> {
  if (sight === 'approver') await recordSeen(context, [{ id, state }]);
  const events = await linesOf(context, id);
  return await described(context.ports, id, state, { events, now: context.ports.clock.now() });
}

/** More lines than any operation has: each is an append of its own stream. */
const MOST_LINES = 200;

async function linesOf({ caller, ports }: Context, id: string): Promise<readonly AuditLine[]> {
  const page = { order: 'asc', after: null, limit: MOST_LINES } as const;
  const entries = await listAudit(ports.sql, caller.org.id, { resource: id }, page);
  const lines = await Promise.all(entries.map((entry) => describeLine(ports, entry)));
  return caller.orgScopes.has('audit:read') ? lines : lines.map(withoutOrigin);
}

/** The place a colleague works from is shown to auditors only. */
const withoutOrigin = ({
  actor: { ip: _ip, user_agent: _agent, ...actor },
  ...line
}: AuditLine): AuditLine => ({
  ...line,
  actor,
});
