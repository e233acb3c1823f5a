/** The principals and mailboxes whose rights a change of the directory may narrow. Pure. */
import type { DirectoryState, MailboxEntry } from '../../commands/ports/directory.ts';
import type { DirectoryChange, Entity, EntityKey } from '../../projections/directory-entities.ts';

/** `everything`: the directory was reloaded. */
export type RightsChange =
  'everything' | { readonly principals: readonly string[]; readonly mailboxes: readonly string[] };

/** Null when it narrows no rights. A change of an organisation concerns all its mailboxes. `before`: the directory without the change. */
export function changedRights(before: DirectoryState, { put, remove }: DirectoryChange): RightsChange | null {
  const principals = [...put.flatMap(principalOf), ...remove.flatMap((key) => principalOfKey(before, key))];
  const organisations = new Set(
    put.flatMap((entity) =>
      entity.kind === 'organisation' &&
      entity.value.notBefore !== (before.organisations.get(entity.value.id)?.notBefore ?? null)
        ? [entity.value.id]
        : [],
    ),
  );
  const ofThem =
    organisations.size === 0
      ? []
      : [...before.mailboxes.values()].filter(({ orgId }) => organisations.has(orgId)).map(({ id }) => id);
  const changed = put.flatMap((entity) =>
    entity.kind === 'mailbox' && rights(before.mailboxes.get(entity.value.id)) !== rights(entity.value)
      ? [entity.value.id]
      : [],
  );
  const mailboxes = [...ofThem, ...changed];
  return principals.length + mailboxes.length === 0 ? null : { principals, mailboxes };
}

function principalOf(entity: Entity): readonly string[] {
  switch (entity.kind) {
    case 'grant':
      return [entity.value.principalId];
    case 'member':
      return [entity.value.userId];
    case 'agent':
    case 'person':
      return [entity.value.id];
    case 'token':
    case 'oauthGrant':
      return entity.value.revokedAt === null ? [] : [entity.value.principalId];
    default:
      return [];
  }
}

function principalOfKey(state: DirectoryState, { kind, id }: EntityKey): readonly string[] {
  switch (kind) {
    case 'grant':
    case 'token':
    case 'oauthGrant':
      return [state[`${kind}s`].get(id)?.principalId ?? ''];
    case 'member':
      return [userOf(id)];
    case 'agent':
    case 'person':
      return [id];
    default:
      return [];
  }
}

/** `<org_id>/<usr_id>`. */
const userOf = (memberId: string): string => memberId.slice(memberId.indexOf('/') + 1);

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
