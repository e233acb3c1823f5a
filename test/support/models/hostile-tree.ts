/** Random messages with contradictory parts, headers and encodings. */
import fc from 'fast-check';

const CRLF = '\r\n';
const token = fc.stringMatching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,12}$/);
const odd = fc.string({ unit: 'binary', maxLength: 30 });
const mediaType = fc.oneof(
  fc.constantFrom(
    'text/plain',
    'text/html',
    'multipart/mixed',
    'multipart/alternative',
    'multipart/related',
    'message/rfc822',
    'image/png',
  ),
  fc.tuple(token, token).map(([type, subtype]) => `${type}/${subtype}`),
  odd,
);
const encoding = fc.constantFrom(
  '7bit',
  '8bit',
  'base64',
  'quoted-printable',
  'binary',
  'x-uuencode',
  'BASE64',
  '',
);
const header = fc.oneof(
  fc.tuple(
    fc.constantFrom('From', 'To', 'Cc', 'Subject', 'Date', 'Message-ID', 'References', 'Reply-To'),
    odd,
  ),
  fc.tuple(token, odd),
);
const content = fc.oneof(odd, fc.constantFrom('<p>html</p>', 'Y2FmZQ==', '=C3=A9=', '> quoted', '--b0', ''));

interface Tree {
  readonly type: string;
  readonly encoding: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly content: string;
  readonly closed: boolean;
  readonly parts: readonly Tree[];
}

const tree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    type: mediaType,
    encoding,
    headers: fc.array(header, { maxLength: 3 }),
    content,
    closed: fc.boolean(),
    parts: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constant([]),
      fc.array(tie('tree'), { maxLength: 4 }),
    ),
  }),
})).tree;

function written(
  { type, encoding: coded, headers, content: own, closed, parts }: Tree,
  level: number,
): string[] {
  const boundary = `b${String(level)}`;
  const isMultipart = parts.length > 0;
  return [
    `Content-Type: ${isMultipart && !type.startsWith('multipart/') ? 'multipart/mixed' : type}; boundary=${boundary}`,
    ...(coded === '' ? [] : [`Content-Transfer-Encoding: ${coded}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    '',
    own,
    ...parts.flatMap((part) => [`--${boundary}`, ...written(part, level + 1)]),
    ...(isMultipart && closed ? [`--${boundary}--`] : []),
  ];
}

/** Random trees of parts with unusual contents. */
export const hostileTree: fc.Arbitrary<Buffer> = fc
  .tuple(fc.array(header, { maxLength: 4 }), tree)
  .map(([headers, root]) =>
    [...headers.map(([name, value]) => `${name}: ${value}`), ...written(root, 0)].join(CRLF),
  )
  .map((message) => Buffer.from(message));
