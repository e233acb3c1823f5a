/** What an approval of message actions covers, read from the mailbox at the request (`contract.md` 9). */
import type { Context } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { Prepared } from './prepare-operation.ts';
import type { Target } from './selection.ts';
import { actionsWarnings } from '../operations/approval-warnings.ts';
import { buildActionsManifest, type MessageFace } from './actions-manifest.ts';
import type { ApprovalRequest } from '../operations/request-approval.ts';

/**
 * Only messages at their place now can be approved: a stale id keeps that outcome and gets no item in the
 * manifest. Throws `message_stale` when no message is left.
 */
export async function fixActions(
  mail: MailSession,
  { ports }: Pick<Context, 'ports'>,
  { request, operationId, mailbox, steps, targets }: Prepared,
): Promise<Pick<ApprovalRequest, 'manifest' | 'action' | 'cardinality' | 'warnings'>> {
  const present = targets.filter(({ stale }) => !stale);
  if (present.length === 0) {
    const message = 'None of these messages is in its place; query again for their new ids.';
    throw new GatewayError('message_stale', message);
  }
  const fixed = { operationId, mailbox, steps, targets: present, faces: await facesOf(mail, present) };
  const [first, ...others] = request.actions;
  const { min = 1, max = targets.length } = request.cardinality ?? {};
  const manifest = buildActionsManifest(ports.ids.newNonce(), fixed);
  return {
    manifest,
    warnings: actionsWarnings(manifest),
    action: first && others.length === 0 ? first.type : 'message_actions',
    cardinality: { min, max },
  };
}

/** Only as the mail server reports them, because they are compared at the commit. */
async function facesOf(
  mail: MailSession,
  targets: readonly Target[],
): Promise<readonly (MessageFace | null)[]> {
  const told = targets.flatMap(({ face }) => face ?? []);
  if (told.length === targets.length) return told;
  return await mail.fetch(
    targets.map(({ ref }) => ref),
    'envelope',
    null,
  );
}
