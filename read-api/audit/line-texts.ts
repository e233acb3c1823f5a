/** Which sealed texts of an audit line a caller may see: the one rule for lists, exports and evidence (`contract.md` 12). */
import { holdsOn, operationsVisibleTo } from '../../commands/approvals/operation-sight.ts';
import type { Caller } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import type { SealedReader } from '../../commands/ports/ports.ts';
import { isMailboxId } from '../../commands/values/ids.ts';
import { mayDecide } from '../../projections/approval-queries.ts';
import type { AuditEntry } from '../../projections/audit-queries.ts';
import { type SealedField, sealedFields } from '../../projections/sealed-fields.ts';

export interface OpenedText {
  /** JSON Pointer into the body (`docs/audit-format.md` 6). */
  readonly at: string;
  /** Base64; null for a text that was sealed before commitments. */
  readonly salt: string | null;
  readonly text: string;
}

export interface LineTexts {
  readonly opened: readonly OpenedText[];
  /** Their owner's key was erased. */
  readonly erased: readonly string[];
  /** Not for this caller, or not to be opened for another reason. */
  readonly withheld: readonly string[];
}

export const NO_TEXTS: LineTexts = { opened: [], erased: [], withheld: [] };

export type SealedLine = Pick<AuditEntry, 'type' | 'approvalId' | 'data'> & {
  readonly actor: Pick<AuditEntry['actor'], 'id' | 'client'>;
};

/** What one reader may open, for all lines of a request. */
export interface TextSight {
  readonly personal: Pick<SealedReader, 'ownerOf' | 'prove'>;
  mayOpen(line: SealedLine, ownerId: string): Promise<boolean>;
}

/**
 * Texts of people, and of mails of the gateway, open for whoever may see the body of their line. Texts of a mailbox open for a caller
 * with a grant there that shows messages or drafts of every folder, for the author of the line, and for who voted on its approval or may decide it.
 */
export function sightOfTexts({ caller, ports }: Pick<Context, 'caller' | 'ports'>): TextSight {
  const visible = operationsVisibleTo(caller, ports.directory.state);
  const decides = new Map<string, Promise<boolean>>();
  const decidesOn = (approvalId: string): Promise<boolean> => {
    const asked = decides.get(approvalId) ?? mayDecide(ports.sql, visible, caller.principal.id, approvalId);
    decides.set(approvalId, asked);
    return asked;
  };
  return {
    personal: ports.personal,
    mayOpen: async ({ actor, approvalId }, ownerId) =>
      !isMailboxId(ownerId) ||
      readsWholly(caller, ownerId) ||
      actor.id === caller.principal.id ||
      (approvalId !== null && (await decidesOn(approvalId))),
  };
}

/** A text does not say of which folder it is: a grant for some folders opens none. */
const readsWholly = (caller: Pick<Caller, 'mailboxes'>, mailboxId: string): boolean =>
  caller.mailboxes.get(mailboxId)?.folderRoles === null &&
  (holdsOn(caller, mailboxId, 'messages:read') || holdsOn(caller, mailboxId, 'drafts:read'));

/** The mailboxes whose texts open for a caller by a grant, in order. */
export const mailboxesReadWholly = (caller: Pick<Caller, 'mailboxes'>): readonly string[] =>
  [...caller.mailboxes.keys()].filter((id) => readsWholly(caller, id)).toSorted();

/** The place of the text about where a request came from. */
export const CLIENT_AT = '/meta/actor/client';

/** Every sealed text of a line. */
export const sealedTexts = ({ type, data, actor: { client } }: SealedLine): readonly SealedField[] => [
  ...sealedFields(type, data),
  ...(client === null ? [] : [{ at: CLIENT_AT, sealed: client }]),
];

/** The sealed texts of a line, as far as this reader may see them. Throws `store_unavailable`. */
export async function openTexts(sight: TextSight, line: SealedLine): Promise<LineTexts> {
  const opened: OpenedText[] = [];
  const erased: string[] = [];
  const withheld: string[] = [];
  for (const field of sealedTexts(line)) {
    const { at } = field;
    const shown = await openField(sight, line, field);
    if (shown === 'erased') erased.push(at);
    else if (shown === null) withheld.push(at);
    else if (shown !== 'not_sealed')
      opened.push({ at, salt: shown.salt && base64(shown.salt), text: shown.text });
  }
  return { opened, erased, withheld };
}

/** The same texts where none is opened: whether one was erased is not looked up. */
export const closedTexts = ({ personal }: TextSight, line: SealedLine): LineTexts => ({
  ...NO_TEXTS,
  withheld: sealedTexts(line)
    .filter(({ sealed }) => personal.ownerOf(sealed) !== null)
    .map(({ at }) => at),
});

type Shown = Awaited<ReturnType<SealedReader['prove']>> | 'not_sealed';

/** An erased text is told as erased to whoever may see the line: there is nothing left in it to see. */
async function openField(sight: TextSight, line: SealedLine, { sealed }: SealedField): Promise<Shown> {
  const ownerId = sight.personal.ownerOf(sealed);
  if (ownerId === null) return 'not_sealed';
  const proven = await sight.personal.prove(sealed);
  return proven === 'erased' || (await sight.mayOpen(line, ownerId)) ? proven : null;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
