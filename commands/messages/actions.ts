/** Actions as callers write them, and what each requires. */
import { z } from 'zod';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import { folderOfRole, resolveFolder, roleOfFolder } from '../kernel/folders.ts';
import type { FolderRef } from '../mail/message.ts';
import type { Locators } from '../ports/ports.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { FolderArgument } from '../mail/select.ts';
import type { ActionStep, ActionType } from '../operations/operation-events.ts';

const keyword = z
  .string()
  .regex(
    /^[^\s(){%*"\\\]\u0000-\u001f\u007f-\uffff]{1,64}$/,
    'A keyword is an IMAP atom: no spaces, no backslash.',
  );

export const flagFields = {
  seen: z.boolean().optional(),
  flagged: z.boolean().optional(),
  answered: z.boolean().optional(),
  keywords_add: z.array(keyword).max(32).optional(),
  keywords_remove: z.array(keyword).max(32).optional(),
};
export const FlagFields = z.strictObject(flagFields);
export type FlagFields = z.output<typeof FlagFields>;

/** For anything with flag fields: at least one flag or keyword must change. */
export const changesFlags = (fields: FlagFields): boolean => {
  const { add, remove } = flagsOf(fields);
  return add.length + remove.length > 0;
};
export const NO_FLAGS = 'set_flags needs at least one flag or keyword to change.';

export const Action = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('move'), folder: FolderArgument }),
  z.strictObject({ type: z.literal('copy'), folder: FolderArgument }),
  z.strictObject({ type: z.literal('trash') }),
  z.strictObject({ type: z.literal('spam') }),
  z.strictObject({ type: z.literal('not_spam') }),
  z.strictObject({ type: z.literal('archive') }),
  z.strictObject({ type: z.literal('set_flags'), ...flagFields }).refine(changesFlags, NO_FLAGS),
  z.strictObject({ type: z.literal('expunge') }),
]);
export type Action = z.output<typeof Action>;

const SCOPE_OF: Readonly<Record<ActionType, MailboxScope>> = {
  move: 'messages:move',
  copy: 'messages:copy',
  trash: 'messages:trash',
  spam: 'messages:spam',
  not_spam: 'messages:spam',
  archive: 'messages:archive',
  set_flags: 'messages:flag',
  expunge: 'messages:expunge',
};
export const scopesOf = (actions: readonly { readonly type: ActionType }[]): readonly MailboxScope[] => [
  ...new Set(actions.map((action) => SCOPE_OF[action.type])),
];

const RELOCATING: ReadonlySet<ActionType> = new Set(['move', 'trash', 'spam', 'not_spam', 'archive']);
/** True when the message leaves its place: no action can follow. */
export const takesAway = (action: { readonly type: ActionType }): boolean =>
  relocates(action) || action.type === 'expunge';

/** Irreversible: runs through an approval for every caller, even where policy allows it (`contract.md` 6). */
export const neverDirect = ({ type }: { readonly type: ActionType }): boolean => type === 'expunge';

export const relocates = (action: { readonly type: ActionType }): boolean => RELOCATING.has(action.type);

/** True for steps that remove messages, or move them to the trash by whatever name: a legal hold forbids them. */
export const destroys = (mailbox: MailboxEntry, steps: readonly ActionStep[]): boolean =>
  steps.some(
    ({ action, folder }) =>
      action === 'expunge' ||
      action === 'trash' ||
      (relocates({ type: action }) && folder !== undefined && roleOfFolder(mailbox, folder) === 'trash'),
  );

const invalid = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { details: { issues: [{ path, code: 'custom', message }] } });

/** In order on each message; only the last may take the message away. Throws `invalid_request`. */
export function checkActions(actions: readonly Action[]): void {
  actions.forEach((action, index) => {
    const path = `operation.actions.${String(index)}`;
    if (takesAway(action) && index < actions.length - 1) {
      throw invalid(
        path,
        `A relocating action (${action.type}) must be the last: afterwards the message is no longer there.`,
      );
    }
  });
}

const SYSTEM_FLAGS = { seen: '\\Seen', flagged: '\\Flagged', answered: '\\Answered' } as const;

/** The IMAP flags that a `set_flags` adds and removes. */
function flagsOf(fields: FlagFields): { add: string[]; remove: string[] } {
  const add = [...(fields.keywords_add ?? [])];
  const remove = [...(fields.keywords_remove ?? [])];
  for (const [field, flag] of Object.entries(SYSTEM_FLAGS)) {
    const wanted = fields[field as keyof typeof SYSTEM_FLAGS];
    if (wanted === true) add.push(flag);
    if (wanted === false) remove.push(flag);
  }
  return { add, remove };
}

/** Gmail has no archive folder: an archived message stays only in \All (RFC 6154). */
const archiveFolder = (mailbox: MailboxEntry): FolderRef =>
  mailbox.capabilities.includes('X-GM-EXT-1')
    ? folderOfRole(mailbox, 'all_mail')
    : folderOfRole(mailbox, 'archive');

/** The destination; null when the message stays. Throws `folder_role_missing` or `not_found`. */
export function destinationOf(mailbox: MailboxEntry, action: Action, locators: Locators): FolderRef | null {
  switch (action.type) {
    case 'move':
    case 'copy':
      return resolveFolder(mailbox, action.folder, locators);
    case 'trash':
      return folderOfRole(mailbox, 'trash');
    case 'spam':
      return folderOfRole(mailbox, 'junk');
    case 'not_spam':
      return folderOfRole(mailbox, 'inbox');
    case 'archive':
      return archiveFolder(mailbox);
    case 'set_flags':
    case 'expunge':
      return null;
  }
}

/** The action as the event stores it, folders by number. */
export function stepOf(action: Action, destination: FolderRef | null): ActionStep {
  if (action.type !== 'set_flags')
    return { action: action.type, ...(destination && { folder: destination.number }) };
  const { add, remove } = flagsOf(action);
  return { action: 'set_flags', flags_add: add, flags_remove: remove };
}
