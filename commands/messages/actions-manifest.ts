/** The manifest of message actions: built at the request, compared with the mailbox at the commit. */
import { createHmac } from 'node:crypto';
import type { MailboxEntry } from '../ports/directory.ts';
import type { FetchedMessage } from '../mail/message.ts';
import type { ActionStep } from '../operations/operation-events.ts';
import type { Prepared, Target } from './prepare-operation.ts';
import type { ActionsManifest, ManifestItem } from '../operations/manifest.ts';
import type { Context } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import type { MailSession } from '../ports/mail-port.ts';
import { actionsWarnings } from '../operations/approval-warnings.ts';
import type { ApprovalRequest } from '../operations/request-approval.ts';

/** The fields that identify a message to a person and to the manifest. */
type MessageFace = Pick<FetchedMessage, 'messageId' | 'subject'>;

interface ActionsToFix {
  readonly operationId: string;
  readonly mailbox: Pick<MailboxEntry, 'id' | 'folders'>;
  readonly steps: readonly ActionStep[];
  readonly targets: readonly Target[];
  /** The messages at the targets' places, in the same order; null where no message is any more. */
  readonly faces: readonly (MessageFace | null)[];
}

/** `nonce`: 128 random bits in hex (`Ids.newNonce`). Leaves out what was observed of the destinations. */
export function buildActionsManifest(nonce: string, actions: ActionsToFix): ActionsManifest {
  const { operationId, mailbox, steps, targets, faces } = actions;
  return {
    kind: 'message_actions',
    nonce,
    operation_id: operationId,
    mailbox_id: mailbox.id,
    steps: steps.map((step) => fixedStep(mailbox, step)),
    items: targets.map((target, index) => fixedItem(nonce, target, faces[index] ?? null)),
  };
}

function fixedStep(
  { folders }: Pick<MailboxEntry, 'folders'>,
  step: ActionStep,
): ActionsManifest['steps'][0] {
  const { action, folder, flags_add, flags_remove } = step;
  const path = folders.find(({ number }) => number === folder)?.path;
  return {
    action,
    ...(folder === undefined ? {} : { folder }),
    ...(path === undefined ? {} : { folder_path: path.toWellFormed() }),
    ...(flags_add === undefined ? {} : { flags_add }),
    ...(flags_remove === undefined ? {} : { flags_remove }),
  };
}

const fixedItem = (nonce: string, target: Target, face: MessageFace | null): ManifestItem => ({
  message_id: target.message_id,
  rfc_message_id: (face?.messageId ?? target.rfc_message_id)?.toWellFormed() ?? null,
  subject_hash: face?.subject == null ? null : subjectHash(nonce, face.subject),
  folder: target.ref.folder.path.toWellFormed(),
});

/** Equal subjects have different hashes in different manifests. */
const subjectHash = (nonce: string, subject: string): string =>
  createHmac('sha256', Buffer.from(nonce, 'hex')).update(subject).digest('hex');

/** True when the message at the item's place is the one that was approved. */
export function isSameMessage(nonce: string, item: ManifestItem, face: MessageFace): boolean {
  const hash = face.subject === null ? null : subjectHash(nonce, face.subject);
  return item.subject_hash === hash && item.rfc_message_id === (face.messageId?.toWellFormed() ?? null);
}

/** Numbers of the destinations that are gone or have another path than in the manifest. */
export function movedDestinations(
  manifest: Pick<ActionsManifest, 'steps'>,
  { folders }: Pick<MailboxEntry, 'folders'>,
): readonly number[] {
  return manifest.steps.flatMap(({ folder, folder_path }) => {
    if (folder === undefined) return [];
    const now = folders.find(({ number }) => number === folder);
    return now && now.availability !== 'missing' && now.path.toWellFormed() === folder_path ? [] : [folder];
  });
}

/**
 * What an approval of message actions covers, read from the mailbox at the request (`contract.md` 9).
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
