/** Random messages and filters, over few words so that filters often match. */
import fc from 'fast-check';
import type { Filter } from '../../../commands/mail/mail-filter.ts';
import type { Address, FetchedMessage } from '../../../commands/mail/message.ts';

const words = ['alpha', 'Äpfel', 'naïve', 'Straße', 'ΟΔΟΣ', 'beta', 'Zürich', 'x'];
const wordArbitrary = fc.constantFrom(...words);
const people: readonly Address[] = [
  { name: 'Anna Müller', email: 'anna@example.com' },
  { name: null, email: 'bob@Example.org' },
  { name: 'Carol', email: 'carol@mail.example.com' },
];
const addresses = fc.subarray([...people]);
const instants = fc.integer({ min: 0, max: 40 }).map((day) => new Date(Date.UTC(2025, 0, 1 + day, 12)));

/** A message without a server: everything `matches` reads. */
export const messageArbitrary: fc.Arbitrary<FetchedMessage> = fc
  .record({
    uid: fc.integer({ min: 1, max: 10_000 }),
    seen: fc.boolean(),
    flagged: fc.boolean(),
    keywords: fc.subarray(['$Work', 'later']),
    size: fc.integer({ min: 0, max: 5_000 }),
    receivedAt: instants,
    sentAt: fc.option(instants),
    subject: fc.option(fc.array(wordArbitrary).map((parts) => parts.join(' '))),
    from: addresses,
    to: addresses,
    cc: addresses,
    root: fc.option(fc.constantFrom('<a@example.com>', '<b@example.com>')),
    filename: fc.option(wordArbitrary),
  })
  .map(({ uid, root, filename, ...fields }) => ({
    ...fields,
    ref: { folder: { number: 1, path: 'INBOX' }, uidValidity: 1, uid },
    answered: !fields.seen,
    draft: false,
    messageId: root,
    inReplyTo: null,
    references: [],
    bcc: [],
    replyTo: [],
    autoSubmitted: null,
    hasAttachments: filename !== null,
    attachments:
      filename === null
        ? []
        : [{ part: 2, filename, contentType: 'text/plain', size: 1, inline: false, contentId: null }],
    threadRoot: root,
  }));

const iso = instants.map((date) => date.toISOString());
const leaf: fc.Arbitrary<Filter> = fc.oneof(
  fc.boolean().map((seen) => ({ seen })),
  fc.boolean().map((flagged) => ({ flagged })),
  fc.boolean().map((answered) => ({ answered })),
  fc.boolean().map((has_attachment) => ({ has_attachment })),
  wordArbitrary.map((subject_contains) => ({ subject_contains })),
  fc.constantFrom('anna', 'MULLER', 'example.org', 'carol').map((from_contains) => ({ from_contains })),
  fc.constantFrom('bob', 'example.com').map((to_contains) => ({ to_contains })),
  fc.constantFrom('bob', 'Müller').map((any_address) => ({ any_address })),
  fc.constantFrom('example.com', 'EXAMPLE.org').map((from_domain) => ({ from_domain })),
  iso.map((received_after) => ({ received_after })),
  iso.map((received_before) => ({ received_before })),
  iso.map((sent_after) => ({ sent_after })),
  iso.map((sent_before) => ({ sent_before })),
  fc.integer({ min: 0, max: 5_000 }).map((size_min) => ({ size_min })),
  fc.integer({ min: 0, max: 5_000 }).map((size_max) => ({ size_max })),
  fc.constantFrom('$work', 'later', 'not an atom').map((keyword) => ({ keyword })),
  fc.constantFrom('$Work', 'LATER').map((not_keyword) => ({ not_keyword })),
  wordArbitrary.map((attachment_name_contains) => ({ attachment_name_contains })),
);

/** Filters with groups up to two deep. */
export const filterArbitrary: fc.Arbitrary<Filter> = fc.letrec<{ filter: Filter; own: Filter }>((tie) => ({
  own: fc.tuple(leaf, leaf).map(([a, b]) => ({ ...a, ...b })),
  filter: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    tie('own'),
    leaf,
    fc.record({ any: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ all: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    tie('filter').map((not) => ({ not })),
    fc.tuple(leaf, tie('filter')).map(([own, not]) => ({ ...own, not })),
  ),
})).filter;
