/** The ids of operations: one random part, shared with the approval (`contract.md` 1). */
import type { Context } from '../kernel/capability.ts';
import { withPrefix } from '../values/ids.ts';

/** The id of the operation a request submits: that of its Idempotency-Key, or a new one. */
export const operationIdOf = ({ request, caller, ports }: Context): string =>
  request.idempotencyKey === null
    ? ports.ids.newId('opn')
    : ports.ids.idForKey('opn', caller.org.id, caller.principal.id, request.idempotencyKey);

/** The approval of an operation. */
export const approvalIdOf = (operationId: string): string => withPrefix('chk', operationId);

/** The operation of an approval, by the approval's id; any other text makes an id that no operation has. */
export const operationOfApproval = (approvalId: string): string => withPrefix('opn', approvalId);
