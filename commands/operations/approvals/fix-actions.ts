/** What a check of message actions is about, read from the mailbox when it is asked for (`contract.md` 9). */
import type { Context } from '../../kernel/capability.ts';
import { GatewayError } from '../../kernel/errors.ts';
import type { MailSession } from '../../kernel/mail-port.ts';
import type { Prepared } from '../prepare-operation.ts';
import { buildActionsManifest } from './build-actions-manifest.ts';
import type { CheckRequest } from './request-approval.ts';

/**
 * Only what lies at its place now can be approved: a stale id stays that item's outcome, and nothing is fixed for it.
 * Throws `message_stale` when no message is left.
 */
export async function fixActions(
  mail: MailSession,
  { ports }: Pick<Context, 'ports'>,
  { request, operationId, mailbox, steps, targets }: Prepared,
): Promise<Pick<CheckRequest, 'manifest' | 'action' | 'cardinality'>> {
  const present = targets.filter(({ stale }) => !stale);
  if (present.length === 0) {
    const message = 'None of these messages is at its place any more; query again for their new ids.';
    throw new GatewayError('message_stale', message);
  }
  const refs = present.map(({ ref }) => ref);
  const faces = await mail.fetch(refs, 'envelope', null);
  const fixed = { operationId, mailbox, steps, targets: present, faces };
  const [first, ...others] = request.actions;
  const { min = 1, max = targets.length } = request.cardinality ?? {};
  return {
    manifest: buildActionsManifest(ports.ids.newNonce(), fixed),
    action: first && others.length === 0 ? first.type : 'message_actions',
    cardinality: { min, max },
  };
}
