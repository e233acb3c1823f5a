/** Finds an approval by its id, for a caller who may see it (`contract.md` 3). */
import { z } from 'zod';
import type { Context } from '../kernel/capability.ts';
import { loadAggregate, type Loaded } from '../kernel/decide-and-append.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { ApprovalState } from '../operations/approval-state.ts';
import { personBehind } from '../operations/eligible-approvers.ts';
import { operation, operationOfApproval, type OperationState } from '../operations/operation.ts';
import { approvalRecord } from '../operations/approval-record.ts';
import { holdsOn, sightOf } from './operation-sight.ts';
import { type Approval, approvalPayload } from '../operations/approval-payload.ts';

export const ApprovalId = z.string().max(64).describe('The chk_ id of an approval.');

export interface FoundApproval {
  readonly operationId: string;
  readonly mailboxId: string;
  readonly loaded: Loaded<OperationState>;
  readonly approval: ApprovalState;
  /** The principal that requested it. */
  readonly requesterId: string;
  /** The person in whose name it was requested. */
  readonly behindId: string;
}

type Asking = Pick<Context, 'caller' | 'ports'>;

/** Throws `not_found` for an unknown approval and for one the caller may not see. */
export async function findApproval(asking: Asking, approvalId: string): Promise<FoundApproval> {
  if (!approvalId.startsWith('chk_')) throw notFound('approval');
  const operationId = operationOfApproval(approvalId);
  const loaded = await loadAggregate(asking.ports.events, operation, operationId);
  const { submitted, mailboxId, approval } = loaded.state;
  if (submitted === null || mailboxId === null || approval === null) throw notFound('approval');
  const behindId = personBehind(asking.ports.directory.state, submitted.by);
  const found = { operationId, mailboxId, loaded, approval, requesterId: submitted.by.id, behindId };
  if ((await sightOf(asking, loaded.state)) === null) throw notFound('approval');
  return found;
}

/** Nothing has superseded an approval that changes now; its own route returns `superseded_by`. */
export const showApproval = async (
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  operationId: string,
  state: OperationState,
): Promise<Approval> =>
  await approvalPayload(ports, {
    ...{ record: approvalRecord(operationId, state), supersededBy: null, now: ports.clock.now() },
    viewerId: caller.principal.id,
  });

/** A vote or a withdrawal: a repeated key is answered with the approval as it is now. */
export const changedOnce = {
  kind: 'claim',
  replay: async (
    _: string,
    { approval_id }: { readonly approval_id: string },
    context: Context,
    settled: boolean,
  ): Promise<Approval | null> => {
    const { operationId, loaded } = await findApproval(context, approval_id);
    return settled ? await showApproval(context, operationId, loaded.state) : null;
  },
} as const;

/** Allows these principals and any signed-in person, by the grant on the mailbox. Throws `insufficient_scope`. */
export function assertMayAct(
  { caller }: Asking,
  { mailboxId }: FoundApproval,
  scope: 'approvals:cancel' | 'approvals:commit',
  principalIds: readonly string[],
): void {
  const refused = (message: string): GatewayError =>
    new GatewayError('insufficient_scope', message, { details: { required: [scope] } });
  if (!holdsOn(caller, mailboxId, scope)) {
    throw refused(`This token lacks the scope ${scope} on that mailbox.`);
  }
  if (principalIds.includes(caller.principal.id) || caller.actor === 'person') return;
  throw refused('Only the requester or a signed-in person may commit or withdraw an approval.');
}
