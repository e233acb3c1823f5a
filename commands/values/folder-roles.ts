/** The roles a folder can have (RFC 6154), as the API names them. */

/** The list of `contract.md` 4; `spam` is read as `junk`. */
export const FOLDER_ROLES = [
  'inbox', 'drafts', 'sent', 'trash', 'junk', 'archive', 'flagged', 'important', 'all_mail',
] as const; // prettier-ignore

export type FolderRole = (typeof FOLDER_ROLES)[number];
