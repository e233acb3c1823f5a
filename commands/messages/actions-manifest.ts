/** The manifest of message actions: built at the request, compared with the mailbox at the commit. Pure. */
import { createHmac } from 'node:crypto';
import type { MailboxEntry } from '../ports/directory.ts';
import type { FetchedMessage } from '../mail/message.ts';
import type { ActionStep } from '../operations/operation-events.ts';
import type { Target } from './selection.ts';
import type { ActionsManifest, ManifestItem } from '../operations/manifest.ts';

/** The fields that identify a message to a person and to the manifest. */
export type MessageFace = Pick<FetchedMessage, 'messageId' | 'subject'>;

export interface ActionsToFix {
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
