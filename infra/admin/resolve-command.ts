/** `admin resolve`: settles an operation with an unknown outcome, on a person's word. */
import { resolveOperation } from '../../commands/email/resolve-operation.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { operation } from '../../commands/operations/operation.ts';
import { countsOf, progressOf } from '../../commands/operations/approval-reply.ts';
import { WORDS } from '../../commands/messages/resolve-actions.ts';
import { adminAuthor } from './call-command.ts';

export interface ResolveArguments {
  readonly operationId: string;
  readonly word: string | undefined;
  readonly reason: string | undefined;
}

const MAX_REASON = 1_000;

/** Returns text for the terminal. Throws one sentence. */
export async function resolveCommand(
  core: Omit<Ports, 'readModels'>,
  { operationId, word, reason = '' }: ResolveArguments,
): Promise<string> {
  const outcome = WORDS.find((known) => known === word);
  if (outcome === undefined) throw new Error(`Say what became of it: ${WORDS.join(' or ')}.`);
  const text = reason.trim();
  if (text === '' || text.length > MAX_REASON) {
    throw new Error(
      `Give a reason of at most ${String(MAX_REASON)} characters with --reason; it is kept in the audit trail.`,
    );
  }
  const { state } = await loadAggregate(core.events, operation, operationId);
  const orgId = state.submitted?.orgId;
  if (orgId == null) throw new Error(`There is no operation ${operationId}.`);
  const ports: Ports = { ...core, readModels: { waitFor: () => Promise.resolve(false) } };
  const after = await resolveOperation(ports, adminAuthor(core, orgId), operationId, {
    outcome,
    reason: text,
  });
  return `${operationId} is ${progressOf(countsOf(after))} now.`;
}
