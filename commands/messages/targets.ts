/** The messages an operation is about, with what they are found by again. */
import type { PersonalData } from '../ports/ports.ts';
import { openJson } from '../kernel/sealed-json.ts';
import type { OperationState } from '../operations/operation.ts';
import { type OperationTarget, RfcMessageIds } from '../operations/operation-events.ts';

/** With their Message-IDs; without them where the mailbox was erased. */
export async function openTargets(
  personal: Pick<PersonalData, 'open'>,
  { targets, rfcMessageIds }: Pick<OperationState, 'targets' | 'rfcMessageIds'>,
): Promise<readonly OperationTarget[]> {
  const ids = await openJson(personal, rfcMessageIds, RfcMessageIds);
  return targets.map((target, index) => ({ ...target, rfc_message_id: ids?.[index] ?? null }));
}
