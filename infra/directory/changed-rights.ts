/** The principals and mailboxes whose rights a change of the directory may narrow. Pure. */
import type { DirectoryState, MailboxEntry } from '../../commands/ports/directory.ts';
import type { DirectoryChange, Entity, EntityKey } from '../../projections/directory-entities.ts';

/** `everything`: the directory was reloaded. */
export type RightsChange =
  'everything' | { readonly principals: readonly string[]; readonly mailboxes: readonly string[] };

/** Null when it narrows no rights. `before`: the directory without the change. */
export function changedRights(before: DirectoryState, { put, remove }: DirectoryChange): RightsChange | null {
  const principals = [...put.flatMap(principalOf), ...remove.flatMap((key) => principalOfKey(before, key))];
  const mailboxes = put.flatMap((entity) =>
    entity.kind === 'mailbox' && rights(before.mailboxes.get(entity.value.id)) !== rights(entity.value)
      ? [entity.value.id]
      : [],
  );
  return principals.length + mailboxes.length === 0 ? null : { principals, mailboxes };
}

function principalOf(entity: Entity): readonly string[] {
  switch (entity.kind) {
    case 'grant':
      return [entity.value.principalId];
    case 'role':
      return [memberOf(entity.value.id)];
    case 'agent':
      return [entity.value.id];
    case 'token':
      return entity.value.revokedAt === null ? [] : [entity.value.principalId];
    default:
      return [];
  }
}

function principalOfKey({ grants, tokens }: DirectoryState, { kind, id }: EntityKey): readonly string[] {
  switch (kind) {
    case 'grant':
      return [grants.get(id)?.principalId ?? ''];
    case 'token':
      return [tokens.get(id)?.principalId ?? ''];
    case 'role':
      return [memberOf(id)];
    case 'agent':
    case 'person':
      return [id];
    default:
      return [];
  }
}

/** `<org_id>/<usr_id>`. */
const memberOf = (roleId: string): string => roleId.slice(roleId.indexOf('/') + 1);

/** The fields of a mailbox that determine which folders a grant covers, and whether the mailbox exists. */
const rights = (mailbox: MailboxEntry | undefined): string =>
  mailbox === undefined
    ? ''
    : JSON.stringify([
        mailbox.state === 'removed',
        mailbox.folders,
        mailbox.folderRoles,
        mailbox.detectedRoles,
      ]);
