/** Messages that are known to break parsers, written for these tests. */
export interface HostileMessage {
  readonly name: string;
  readonly raw: Buffer;
}

const CRLF = '\r\n';
const text = (...lines: string[]): Buffer => Buffer.from(`${lines.join(CRLF)}${CRLF}`, 'latin1');
const utf8 = (...lines: string[]): Buffer => Buffer.from(`${lines.join(CRLF)}${CRLF}`);
const head = (name: string): string[] => [
  'From: Mallory <mallory@example.org>',
  'To: anna@example.com',
  `Subject: ${name}`,
  'MIME-Version: 1.0',
];
const plain = (name: string, ...body: string[]): Buffer =>
  text(...head(name), 'Content-Type: text/plain', '', ...body);

function nested(depth: number): string[] {
  const opened = Array.from({ length: depth }, (_, level) => [
    `Content-Type: multipart/mixed; boundary="n${String(level)}"`,
    '',
    `--n${String(level)}`,
  ]);
  const closed = Array.from({ length: depth }, (_, level) => `--n${String(depth - 1 - level)}--`);
  return [...opened.flat(), 'Content-Type: text/plain', '', 'at the bottom', ...closed];
}

const manyParts = (count: number): string[] => [
  'Content-Type: multipart/mixed; boundary=p',
  '',
  ...Array.from({ length: count }, (_, index) => [
    '--p',
    'Content-Type: text/plain',
    '',
    `part ${String(index)}`,
  ]).flat(),
  '--p--',
];

function inItself(depth: number): string[] {
  const inner = depth === 0 ? ['', 'innermost'] : inItself(depth - 1);
  return ['Content-Type: message/rfc822', '', `Subject: level ${String(depth)}`, ...inner];
}

/** A TNEF signature, a key and one attribute that declares more bytes than it has. */
const TNEF = Buffer.from('789f3e220100010690080004000000ffffff7f00', 'hex').toString('base64');

const UUENCODED = ['begin 644 cat.txt', '#0V%T', '`', 'end'];

const SAMPLES: Readonly<Record<string, (name: string) => Buffer>> = {
  'nested 100 deep': (name) => text(...head(name), ...nested(100)),
  'nested 400 deep': (name) => text(...head(name), ...nested(400)),
  'boundary missing': (name) =>
    text(...head(name), 'Content-Type: multipart/mixed', '', '--x', '', 'text', '--x--'),
  'boundary never met': (name) =>
    text(...head(name), 'Content-Type: multipart/mixed; boundary=none', '', 'just text'),
  'boundary empty': (name) =>
    text(...head(name), 'Content-Type: multipart/mixed; boundary=""', '', '--', '', 'x', '----'),
  'boundary of the parent': (name) =>
    text(
      ...head(name), 'Content-Type: multipart/mixed; boundary=same', '', '--same',
      'Content-Type: multipart/alternative; boundary=same', '', '--same', 'Content-Type: text/plain', '', 'inner', '--same--', '--same--',
    ), // prettier-ignore
  'boundary never closed': (name) =>
    text(
      ...head(name),
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '',
      '<p>open',
    ),
  'boundary of 5,000 characters': (name) => {
    const boundary = 'b'.repeat(5_000);
    return text(
      ...head(name),
      `Content-Type: multipart/mixed; boundary=${boundary}`,
      '',
      `--${boundary}`,
      '',
      'x',
      `--${boundary}--`,
    );
  },
  'charset unknown': (name) =>
    text(...head(name), 'Content-Type: text/plain; charset="x-nobody\u00e9"', '', 'caf\u00e9'),
  'charset wrong': (name) =>
    text(...head(name), 'Content-Type: text/plain; charset=utf-8', '', 'caf\u00e9 \u00ff\u00fe\u0080'),
  'charset UTF-16 cut in half': (name) =>
    text(...head(name), 'Content-Type: text/plain; charset=utf-16', '', 'a\u0000b\u0000c'),
  'charset UTF-7': (name) =>
    text(
      ...head(name),
      'Content-Type: text/html; charset=utf-7',
      '',
      '+ADw-script+AD4-alert(1)+ADw-/script+AD4-',
    ),
  'transfer encoding unknown': (name) => text(...head(name), 'Content-Transfer-Encoding: x-magic', '', 'abc'),
  'transfer encoding wrong': (name) =>
    text(
      ...head(name),
      'Content-Type: text/plain',
      'Content-Transfer-Encoding: base64',
      '',
      '!!! no base64 =) at all ===',
    ),
  'transfer encoding on a multipart': (name) =>
    text(
      ...head(name),
      'Content-Type: multipart/mixed; boundary=e',
      'Content-Transfer-Encoding: base64',
      '',
      '--e',
      '',
      'x',
      '--e--',
    ),
  'transfer encoding twice': (name) =>
    text(
      ...head(name),
      'Content-Type: text/plain',
      'Content-Transfer-Encoding: base64',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'Y2Fm=C3=A9',
    ),
  'quoted-printable broken': (name) =>
    text(
      ...head(name),
      'Content-Type: text/plain',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      '=ZZ =4 = =',
      '=C3',
      ' '.repeat(3_000),
      'end=',
    ),
  '8-bit header': (name) =>
    text(
      `Subject: ${name} caf\u00e9 \u00ff`,
      'From: M\u00e4x <m\u00e4x@example.org>',
      'To: \u00c3\u00a9@b',
      '',
      'x',
    ),
  'encoded words broken inside characters': (name) =>
    text(
      `Subject: ${name} =?utf-8?B?w?= =?utf-8?B?qQ==?= =?utf-8?Q?=C3?= =?utf-8?Q?=A9?= =?x?Z?=?= =?utf-8?B?`,
      'From: =?utf-8?Q?=00=0D=0ABcc:_x?= <a@b>',
      '',
      'x',
    ),
  'RFC 2231 with gaps': (name) =>
    text(
      ...head(name), 'Content-Type: multipart/mixed; boundary=g', '', '--g',
      "Content-Type: application/x; name*0*=utf-8''a%20; name*2=c; name*1*=%ZZb; name*99=z; name*x=y",
      "Content-Disposition: attachment; filename*=bogus'en'%ff%fe; filename*1*=x", '', 'x', '--g--',
    ), // prettier-ignore
  'parameters by the thousand': (name) =>
    text(
      ...head(name),
      `Content-Type: text/plain${Array.from({ length: 2_000 }, (_, index) => `; p${String(index)}=v`).join(`;${CRLF} `)}`,
      '',
      'x',
    ),
  uuencode: (name) =>
    text(
      ...head(name),
      'Content-Transfer-Encoding: x-uuencode',
      'Content-Type: application/octet-stream; name=cat.txt',
      '',
      ...UUENCODED,
    ),
  'uuencode inline': (name) => plain(name, 'See:', ...UUENCODED),
  'empty parts': (name) =>
    text(
      ...head(name),
      'Content-Type: multipart/mixed; boundary=z',
      '',
      '--z',
      '--z',
      '',
      '--z',
      'Content-Type: image/png',
      '',
      '--z--',
    ),
  'no body': (name) => text(...head(name)),
  'no header': (name) => text('', name),
  'nothing but a header line': (name) => Buffer.from(`Subject: ${name}`),
  'message in a message': (name) => text(...head(name), ...inItself(30)),
  'message in Base64': (name) =>
    text(
      ...head(name),
      'Content-Type: message/rfc822',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.from('Subject: in\r\n\r\nx').toString('base64'),
    ),
  tnef: (name) =>
    text(
      ...head(name),
      'Content-Type: application/ms-tnef; name=winmail.dat',
      'Content-Transfer-Encoding: base64',
      '',
      TNEF,
    ),
  'delivery report': (name) =>
    text(
      ...head(name), 'Content-Type: multipart/report; report-type=delivery-status; boundary=d', '', '--d', '', 'It failed.', '--d',
      'Content-Type: message/delivery-status', '', 'Reporting-MTA: dns; x', '', 'Final-Recipient: rfc822; y', '--d', 'Content-Type: text/rfc822-headers', '', 'Subject: z', '--d--',
    ), // prettier-ignore
  '10,000 parts': (name) => text(...head(name), ...manyParts(10_000)),
  'header line of 1 MB': (name) => text(`Subject: ${name} ${'x'.repeat(1_000_000)}`, 'From: a@b', '', 'x'),
  'header of 20,000 lines': (name) =>
    text(...head(name), ...Array.from({ length: 20_000 }, (_, index) => `X-${String(index)}: y`), '', 'x'),
  'references by the thousand': (name) =>
    text(
      ...head(name),
      `References: ${Array.from({ length: 5_000 }, (_, index) => `<${String(index)}@x>`).join(`${CRLF} `)}`,
      'In-Reply-To: <a <b> c',
      '',
      'x',
    ),
  'bare CR and LF': (name) =>
    Buffer.from(`From: a@b\nTo: c@d\nSubject: ${name}\n\none\rtwo\nthree\r\r\nfour\n\r`),
  'folded from the first line': (name) => text(' folded', `Subject: ${name}`, '\t', ' more', ' ', '', 'x'),
  'date of the year 0': (name) => text(...head(name), 'Date: Sat, 01 Jan 0000 00:00:00 +0000', '', 'x'),
  'date of the year 99999': (name) => text(...head(name), 'Date: Fri, 31 Dec 99999 23:59:60 +9999', '', 'x'),
  'date of nonsense': (name) => text(...head(name), 'Date: yesterday (\u00e9', '', 'x'),
  'address groups': (name) =>
    text(
      `Subject: ${name}`,
      'From: Undisclosed:;',
      'To: A:a@b,c@d;, "B; C": e@f;',
      'Cc: <>, @, a@, @b, a@b@c, (comment (nested (deep',
      'Reply-To: ;;;',
      '',
      'x',
    ),
  'quoted local parts': (name) =>
    text(
      `Subject: ${name}`,
      'From: "a\\"b\\\\ c"@example.org',
      'To: "very.(),:;<>[]\\".unusual"@x.y, <@route:a@b>',
      'Sender: "',
      '',
      'x',
    ),
  'addresses by the thousand': (name) =>
    text(
      `Subject: ${name}`,
      'From: a@b',
      `To: ${Array.from({ length: 5_000 }, (_, index) => `n${String(index)} <a${String(index)}@example.org>`).join(`,${CRLF} `)}`,
      '',
      'x',
    ),
  'IDN and international addresses': (name) =>
    utf8(
      `Subject: ${name} \u0416`,
      'From: \u7528\u6237@\u4f8b\u5b50.\u5e7f\u544a',
      'To: =?utf-8?Q?=E2=80=AE?= <d\u00f6rte@xn--srensen-90a.example.com>',
      '',
      '\u{1f4e8}',
    ),
  'file names of every kind': (name) =>
    utf8(
      ...head(name), 'Content-Type: multipart/mixed; boundary=f',
      ...['../../etc/passwd', 'C:\\\\Windows\\\\x.exe', '..', '.', ' ', 'a\u202egpj.exe', 'x'.repeat(2_000), 'con', '\u0007bell', 'a"b;c=d', '\ud83d\udce8.txt', '', 'CRLF=0D=0Ax']
        .flatMap((file) => ['', '--f', 'Content-Type: application/octet-stream', `Content-Disposition: attachment; filename="${file}"`, '', 'x']),
      '--f--',
    ), // prettier-ignore
  'HTML without an end': (name) =>
    text(...head(name), 'Content-Type: text/html', '', `<div><!-- ${'<b>'.repeat(20_000)}`),
  'HTML nested 50,000 deep': (name) =>
    text(...head(name), 'Content-Type: text/html', '', `${'<div>'.repeat(50_000)}bottom`),
  'HTML of nothing but brackets': (name) =>
    text(...head(name), 'Content-Type: text/html', '', '<'.repeat(300_000)),
  'HTML of entities': (name) =>
    text(
      ...head(name),
      'Content-Type: text/html',
      '',
      '&#x110000;&#0;&#xD800;&lt;script&gt;&amp;&bogus;'.repeat(2_000),
    ),
  'flowed text': (name) =>
    text(
      ...head(name),
      'Content-Type: text/plain; format=flowed; delsp=yes',
      '',
      '>>> deep ',
      '> ',
      ' >',
      '>>>>'.repeat(5_000),
    ),
  'media types of nonsense': (name) =>
    text(
      ...head(name),
      'Content-Type: multipart/mixed; boundary=t',
      ...[
        '/',
        'text',
        ';;;',
        'text/html/x',
        'a'.repeat(500),
        '"/"',
        'message/partial; total=1; number=0',
        'message/external-body; access-type=URL; URL="http://x/"',
        'multipart/',
        'multipart/mixed; boundary=t',
      ].flatMap((type) => ['', '--t', `Content-Type: ${type}`, '', 'x']),
      '--t--',
    ),
  NULs: (name) => Buffer.from(`Subject: ${name} \u0000x\r\nContent-Type: text/plain\r\n\r\na\u0000b\u0000`),
  'controls in the text': (name) => plain(name, '\u0001\u0002\u001b[2J\u007f\u0085\u009b'),
};

/** Every sample, with its name in its subject where it has one. */
export const HOSTILE_MESSAGES: readonly HostileMessage[] = Object.entries(SAMPLES).map(([name, make]) => ({
  name,
  raw: make(name),
}));
