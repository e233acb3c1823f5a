/** A check as it stands, told to whoever changed it. */
import type { Context } from '../kernel/capability.ts';
import { type Approval, approvalPayload } from '../operations/approval-payload.ts';
import type { OperationState } from '../operations/operation.ts';

/** Nothing can have taken the place of a check at the moment it changes: `superseded_by` is told by its own route. */
export const showCheck = async (
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  operationId: string,
  state: OperationState,
): Promise<Approval> =>
  await approvalPayload(ports, {
    ...{ operationId, state, supersededBy: null, now: ports.clock.now() },
    viewerId: caller.principal.id,
  });
