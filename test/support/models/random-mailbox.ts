/** Seeded random messages and queries: odd encodings, dates, threads, attachments, `\Deleted` flags. */
import fc from 'fast-check';
import type { Filter } from '../../../commands/mail/mail-filter.ts';
import { type MailQuery, ORDERS } from '../../../commands/mail/query.ts';
import type { SeedMessage } from '../servers/mail-append.ts';

const word = (text: string, charset: string, encoding: 'Q' | 'B'): string => {
  const bytes = Buffer.from(text, charset === 'iso-8859-1' ? 'latin1' : 'utf8');
  const body =
    encoding === 'B'
      ? bytes.toString('base64')
      : [...bytes].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
  return `=?${charset}?${encoding}?${body}?=`;
};

const SUBJECTS = [
  'alpha beta', 'ALPHA', 'Re: alpha', '', '100% _under_ \\slash', 'a "quoted" (part)',
  word('Äpfel naïve', 'utf-8', 'Q'), word('ΟΔΟΣ Straße', 'utf-8', 'B'), word('Größe', 'iso-8859-1', 'Q'),
  word('hidden\tcontrol\u0001\u0000byte', 'utf-8', 'Q'), word('😀 smile 𝒜lpha', 'utf-8', 'B'), word('ﬁne', 'utf-8', 'B'),
  'raw bytes: Ä ö', '=?broken?Q?x?=', 'İstanbul', word('日本語テスト', 'utf-8', 'B'), 'x'.repeat(600),
]; // prettier-ignore
const PEOPLE = [
  `${word('Anna Müller', 'utf-8', 'Q')} <anna@example.com>`, 'bob@Example.org', '"Carol, X" <carol@mail.example.com>',
  'no-domain', 'Dan <dan@EXAMPLE.com>, Eve <eve@example.org>', 'friends: ann@example.net, bea@example.net;',
  `${word('Ζωή', 'utf-8', 'B')} <zoe@xn--bcher-kva.example>`, 'K <kelvin@example.com>',
]; // prettier-ignore
const FILES = ['plan.pdf', "naïve's %file_.txt", 'ΟΔΟΣ.doc'];
/** Conversations of at most three ids each. */
const GROUPS = [['a', 'b', 'c'], ['d', 'e', 'f'], ['g', 'h', 'i'], ['j', 'k', 'l'], ['m', 'n', 'o']].map((names) =>
  names.map((name) => `<${name}@threads.example>`),
); // prettier-ignore
const IDS = GROUPS.flat();
const FLAGS = ['\\Seen', '\\Flagged', '\\Answered', '\\Draft', '$Work', 'Later', 'NonJunk'];
const DAY_MS = 86_400_000;
const START = Date.UTC(2025, 0, 1, 12);

/** Few days, so that many messages share one; some are precise to the second. */
const instants = fc
  .tuple(fc.integer({ min: 0, max: 20 }), fc.constantFrom(0, 0, 1_000, 3_600_000))
  .map(([day, offset]) => new Date(START + day * DAY_MS + offset));

const option = <T>(of: fc.Arbitrary<T>) => fc.option(of, { freq: 4 });

/** One message for one of the folders. */
export const seedMessages = (folders: readonly string[]): fc.Arbitrary<SeedMessage> =>
  fc
    .record({
      folder: fc.constantFrom(...folders),
      subject: option(fc.constantFrom(...SUBJECTS)),
      from: option(fc.constantFrom(...PEOPLE)),
      to: option(fc.constantFrom(...PEOPLE)),
      cc: option(fc.constantFrom(...PEOPLE)),
      replyTo: option(fc.constantFrom(...PEOPLE)),
      date: option(instants),
      badDate: fc.integer({ min: 0, max: 15 }),
      receivedAt: instants,
      group: fc.constantFrom(...GROUPS),
      id: option(fc.nat(2)),
      number: fc.nat(),
      inReplyTo: fc.option(fc.nat(2), { freq: 2 }),
      references: fc.subarray([0, 1, 2]),
      flags: fc.subarray(FLAGS),
      deleted: fc.integer({ min: 0, max: 11 }),
      file: fc.option(fc.constantFrom(...FILES), { freq: 2 }),
      padding: fc.integer({ min: 0, max: 3_000 }),
    })
    .map((fields) => {
      const { subject, from, to, cc, replyTo, date, file, group } = fields;
      const named = (at: number | null): string | null => (at === null ? null : (group[at] ?? null));
      const [id, inReplyTo] = [named(fields.id), named(fields.inReplyTo)];
      const references = fields.references.map(named);
      const header = (name: string, value: string | null): readonly string[] =>
        value === null ? [] : [`${name}: ${value}`];
      const text = ['Content-Type: text/plain; charset=utf-8', '', `Body ${'y'.repeat(fields.padding)}`, ''];
      const head = [
        ...header('From', from),
        ...header('To', to),
        ...header('Cc', cc),
        ...header('Reply-To', replyTo),
        ...header('Subject', subject),
        ...header('Date', fields.badDate === 0 ? 'the day after' : (date?.toUTCString() ?? null)),
        ...header(
          'Message-ID',
          id ?? (fields.badDate > 12 ? null : `<${String(fields.number)}@example.com>`),
        ),
        ...header('In-Reply-To', inReplyTo),
        ...header('References', references.length === 0 ? null : references.join(' ')),
        'MIME-Version: 1.0',
      ];
      const body =
        file === null
          ? text
          : [
              'Content-Type: multipart/mixed; boundary=b', '', '--b', ...text, '--b', 'Content-Type: application/pdf',
              `Content-Disposition: attachment; filename*=utf-8''${encodeURIComponent(file)}`, '', 'x', '--b--', '',
            ]; // prettier-ignore
      return {
        folder: fields.folder,
        raw: [...head, ...body].join('\r\n'),
        flags: fields.deleted === 0 ? [...fields.flags, '\\Deleted'] : fields.flags,
        receivedAt: fields.receivedAt,
      };
    });

const parts = fc.constantFrom(
  'alpha', 'ALP', 'a', 'Äpfel', 'NAIVE', 'οδος', 'STRASSE', 'größe', '100%', '_', '\\', '"', 'control', '\t', 'fi',
  '😀', '日本', 'istanbul', 'xxxxx', 'zzz', '\u0301', 'alpha beta', 'byte', '\u001e', '\n', 'smile', 're: al',
); // prettier-ignore
const people = fc.constantFrom(
  'anna', 'MULLER', '@example.', 'carol', 'x', 'ζωη', 'no-domain', 'kelvin', 'dan', '\u0301', 'net',
); // prettier-ignore
const iso = instants.map((date) => date.toISOString());
const bytes = fc.integer({ min: 0, max: 4_000 });

type LeafName = Exclude<keyof Filter, 'any' | 'all' | 'not' | 'body_contains' | 'header'>;
const LEAF: Readonly<Record<LeafName, fc.Arbitrary<Filter>>> = {
  seen: fc.boolean().map((seen) => ({ seen })),
  flagged: fc.boolean().map((flagged) => ({ flagged })),
  answered: fc.boolean().map((answered) => ({ answered })),
  draft: fc.boolean().map((draft) => ({ draft })),
  has_attachment: fc.boolean().map((has_attachment) => ({ has_attachment })),
  from_contains: people.map((from_contains) => ({ from_contains })),
  to_contains: people.map((to_contains) => ({ to_contains })),
  cc_contains: people.map((cc_contains) => ({ cc_contains })),
  any_address: people.map((any_address) => ({ any_address })),
  from_domain: fc.constantFrom('example.com', 'EXAMPLE.org', 'no-domain', 'x@mail.example.com', 'ample.com')
    .map((from_domain) => ({ from_domain })),
  subject_contains: parts.map((subject_contains) => ({ subject_contains })),
  received_after: iso.map((received_after) => ({ received_after })),
  received_before: iso.map((received_before) => ({ received_before })),
  sent_after: iso.map((sent_after) => ({ sent_after })),
  sent_before: iso.map((sent_before) => ({ sent_before })),
  size_min: bytes.map((size_min) => ({ size_min })),
  size_max: bytes.map((size_max) => ({ size_max })),
  keyword: fc.constantFrom('$work', 'LATER', 'nonjunk', 'none', 'not an atom').map((keyword) => ({ keyword })),
  not_keyword: fc.constantFrom('$Work', 'later').map((not_keyword) => ({ not_keyword })),
  thread_id: fc.constantFrom(...IDS, '<nobody@example.com>').map((id) => ({ thread_id: `thr_${id}` })),
  message_id_header: fc.constantFrom(...IDS, 'a@threads.example', ' <b@threads.example> ')
    .map((message_id_header) => ({ message_id_header })),
  attachment_name_contains: fc.constantFrom('PLAN', 'naive', '%file_', 'οδος', 'zip')
    .map((attachment_name_contains) => ({ attachment_name_contains })),
}; // prettier-ignore

const leaf = fc.oneof(...Object.values(LEAF));

/** Filters of every key the gateway evaluates itself, in groups up to four deep. */
export const filters: fc.Arbitrary<Filter> = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.tuple(leaf, leaf).map(([a, b]) => ({ ...a, ...b })),
    fc.record({ any: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ all: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    tie('filter').map((not) => ({ not })),
    fc.tuple(leaf, tie('filter')).map(([own, not]) => ({ ...own, not })),
    fc.tuple(leaf, tie('filter'), tie('filter')).map(([own, a, b]) => ({ ...own, any: [a, b] })),
  ),
})).filter;

export type Asked = Pick<MailQuery, 'filter' | 'order' | 'limit'>;

/** A filter with an order and a page size. */
export const askedQueries: fc.Arbitrary<Asked> = fc.record({
  filter: fc.oneof({ arbitrary: filters, weight: 9 }, { arbitrary: fc.constant({}), weight: 1 }),
  order: fc.constantFrom(...ORDERS),
  limit: fc.constantFrom(3, 20, 200),
});
