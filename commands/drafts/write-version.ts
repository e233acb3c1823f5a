/** Writes a version: everything is validated first, then stored, then named by one event. */
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { invalidField } from '../values/errors.ts';
import { canonicalJson } from '../values/canonical-json.ts';
import { unlistedHeaders } from '../values/header-fields.ts';
import type { Address } from '../mail/message.ts';
import type { Ids } from '../ports/ports.ts';
import { policyInForce } from '../policy/decide-for-caller.ts';
import type { NextVersion } from './decide-draft.ts';
import { type DraftBody, storeBody } from './draft-body.ts';
import { type NamedAttachments, storeAttachments } from './draft-attachments.ts';
import { type DraftEnvelope, MAX_RECIPIENTS, recipientsOf, sealEnvelope } from './draft-envelope.ts';
import { type AddressInput, addressOf, sameAddress } from './mail-address.ts';

/** The envelope without its attachments. */
export type EnvelopeFields = Omit<DraftEnvelope, 'attachments'>;

export interface VersionParts {
  readonly fields: EnvelopeFields;
  readonly body: DraftBody;
  readonly attachments: NamedAttachments;
}

type Addresses = readonly AddressInput[] | undefined;

interface NewFields {
  readonly from?: AddressInput | undefined;
  readonly to?: Addresses;
  readonly cc?: Addresses;
  readonly bcc?: Addresses;
  readonly reply_to?: Addresses;
  readonly subject?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
}

/** Throws `invalid_request` for more recipients than a message may have. */
export function checkRecipients(fields: EnvelopeFields): void {
  const count = recipientsOf({ ...fields, attachments: [] }).length;
  if (count <= MAX_RECIPIENTS) return;
  throw invalidField(
    'to',
    `A message has at most ${String(MAX_RECIPIENTS)} recipients, To, Cc and Bcc together.`,
  );
}

/** Throws `invalid_request` for header fields of the input that the organisation's policy does not list. */
export function checkHeaders(
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  headers: object | null = {},
): void {
  const { custom_headers } = policyInForce(ports.directory.state, caller.org.id);
  const [name] = unlistedHeaders(Object.keys(headers ?? {}), custom_headers);
  if (name === undefined) return;
  const message =
    'The policy does not list this header: leave it out, or have it added to custom_headers of the policy.';
  throw invalidField(`headers.${name}`, message);
}

/**
 * Null = the mailbox's own address as it is when the message is composed. Throws `invalid_request` for any
 * other address.
 */
export function senderOf(mailbox: MailboxEntry, input: AddressInput | null | undefined): Address | null {
  if (input == null) return null;
  const from = addressOf(input);
  if (!sameAddress(from.email, mailbox.email))
    throw invalidField('from', 'From is the address of the mailbox.');
  return { name: from.name ?? mailbox.displayName, email: mailbox.email };
}

/** The fields of a draft that is written completely: fields that are not named are empty. */
export const fieldsOf = (
  mailbox: MailboxEntry,
  { from, to = [], cc = [], bcc = [], reply_to = [], subject = '', headers = {} }: NewFields,
): EnvelopeFields => ({
  from: senderOf(mailbox, from),
  to: to.map(addressOf),
  cc: cc.map(addressOf),
  bcc: bcc.map(addressOf),
  reply_to: reply_to.map(addressOf),
  subject,
  headers,
});

/**
 * The `content_hash`, salted with the draft's id. It is keyed, because a plain hash of a short text could be
 * guessed.
 */
export function contentHashOf(
  ids: Ids,
  draftId: string,
  { fields, body, attachments: { attachments } }: VersionParts,
): string {
  // Bytes that were uploaded twice have two ids and one hash: the same content is the same version, whatever
  // its ids.
  const meant = attachments.map(({ id, sha256, given_inline: _, sniffed_type: __, ...shown }) => ({
    ...shown,
    bytes: sha256 ?? id,
  }));
  return ids.reservationName(canonicalJson({ draft: draftId, fields, body, attachments: meant }));
}

/** Stores body and attachments: what the event names exists before the event is written. */
export async function storeVersion(
  context: Context,
  owner: { readonly mailboxId: string; readonly draftId: string },
  parts: VersionParts,
): Promise<NextVersion> {
  const { ids, personal, content } = context.ports;
  const { attachments } = parts.attachments;
  await storeAttachments(context, owner, parts.attachments);
  const labels = attachments.map(({ size: _, ...label }) => label);
  return {
    envelope: await sealEnvelope(personal, owner.mailboxId, { ...parts.fields, attachments: labels }),
    content_id: await storeBody(content, ids.newUuid(), owner, parts.body),
    content_hash: contentHashOf(ids, owner.draftId, parts),
    attachments: attachments.map(({ id, size }) => ({ id, size })),
  };
}
