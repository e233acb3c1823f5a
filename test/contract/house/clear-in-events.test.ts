import { expect } from 'chai';
import { z } from 'zod';
import { allEvents } from '../../../commands/event-catalogue.ts';
import { sealedText } from '../../../commands/values/event-fields.ts';
import { verifies } from '../../support/suite/verifies.ts';

/** Texts of events that are not sealed and are no ids, and what keeps each of them from telling what a mail says. */
const IN_CLEAR: Readonly<Record<string, readonly string[]>> = {
  'a keyed hash, or one over a random number or a sealed Message-ID': [
    'owner_key', 'email_key', 'path_key', 'fingerprint', 'content_hash', 'draft.content_hash', 'mime_sha256',
    'report_key',
  ],
  'an id that this gateway made': [
    'changes.locator', 'changes.previous', 'supersedes', 'message_ids', 'source_message_id', 'sent_message_id', 'report_message_id',
    'targets.message_id', 'results.message_id', 'results.new_message_id', 'created_by', 'rights_of', 'replay_of',
  ],
  'a word of this gateway': [
    'action', 'capability', 'provider', 'code', 'error.code', 'results.error.code', 'policy.decision', 'reason',
  ],
  'a sentence of this gateway; what it is about stands in sealed details': [
    'message', 'error.message', 'results.error.message',
  ],
  'a setting or a name that people of the organisation gave': [
    'name', 'imap.host', 'smtp.host', 'internal_domains', 'custom_headers', 'quotas',
    'rules.when.recipient_domains', 'rules.when.attachment_types',
  ],
  'what an application says of itself to anybody: its name and where its answers go': [
    'client_name', 'redirect_uri', 'redirect_uris',
  ],
  'ids and plain facts, from the mapping of each published event': ['after', 'notifications.data'],
  'flags and keywords of messages': [
    'changes.flags', 'changes.flags_before', 'steps.flags_add', 'steps.flags_remove',
  ],
  'a status code of a closed form': ['recipients.status'],
  'what a mail server can do, as it lists it before anybody reads mail there': ['capabilities'],
  'a checkpoint, its root, or a public key': ['root', 'note', 'previous_note', 'vkey'],
  'the name of a trail, and the ids and names that an export asked for: none can hold an address': [
    'trail', 'filter.actor', 'filter.outcome', 'filter.resource', 'filter.type',
  ],
  'a hash of rights and counts': ['version'],
  'what an operator wrote for all who check the trail': ['comment'],
  'only in events of before the envelope held it': ['draft.attachments.sha256'],
}; // prettier-ignore

/** Names from the top of the data down to every text that is stored as it is. */
function clearTexts(schema: z.core.$ZodType): readonly string[] {
  if (schema === sealedText) return [];
  if (schema instanceof z.ZodUnion)
    return schema.options[0] === sealedText ? [] : schema.options.flatMap((option) => clearTexts(option));
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return clearTexts(schema.unwrap());
  if (schema instanceof z.ZodPipe) return clearTexts(schema.in);
  if (schema instanceof z.ZodArray) return clearTexts(schema.element);
  if (schema instanceof z.ZodRecord) return [...clearTexts(schema.keyType), ...clearTexts(schema.valueType)];
  if (schema instanceof z.ZodObject)
    return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, field]) =>
      clearTexts(field).map((path) => (path === '' ? name : `${name}.${path}`)),
    );
  const isBound = CLOSED.some((kind) => schema instanceof kind);
  return isBound ? [] : [''];
}

/** What can hold no text of anybody's. */
const CLOSED = [z.ZodEnum, z.ZodLiteral, z.ZodNumber, z.ZodBoolean, z.ZodISODateTime] as const;

/** Of a message there are two kinds: those stand above one by one. */
const isId = (path: string): boolean => /(^|[._])ids?$/.test(path) && !/message_ids?$/.test(path);

describe('the texts of events', () => {
  it(`are sealed, except those without content of a mail ${verifies('contract:12:nothing-of-mail')}`, () => {
    const known = new Set(Object.values(IN_CLEAR).flat());
    const found = allEvents.flatMap(({ type, data }) =>
      clearTexts(data)
        .filter((path) => !isId(path))
        .map((path) => ({ type, path })),
    );
    // Seal it (`sealedText`), or say above why it may be read.
    expect(found.filter(({ path }) => !known.has(path))).to.deep.equal([]);
    const met = new Set(found.map(({ path }) => path));
    expect([...known].filter((path) => !met.has(path))).to.deep.equal([]);
  });
});
