/** What samples of delivery reports are made of. */

export const lines = (...all: readonly string[]): string => all.join('\r\n') + '\r\n';

export const ORIGINAL = (id: string): readonly string[] => [
  'From: Anna <anna@example.com>',
  'To: bob@example.net',
  'Subject: Plans',
  `Message-ID: <${id}>`,
  'Date: Mon, 02 Mar 2026 10:00:00 +0000',
];

interface Part {
  readonly type: string;
  readonly lines: readonly string[];
  readonly encoding?: string;
}

export const report = (headers: readonly string[], type: string, parts: readonly Part[]): string =>
  lines(
    ...headers,
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${type};`,
    '\tboundary="=_the/boundary"',
    '',
    'This is a MIME-encapsulated message.',
    '',
    ...parts.flatMap(({ type: partType, encoding, lines: content }) => [
      '--=_the/boundary',
      `Content-Type: ${partType}`,
      ...(encoding === undefined ? [] : [`Content-Transfer-Encoding: ${encoding}`]),
      '',
      ...content,
    ]),
    '--=_the/boundary--',
  );

export const DAEMON = [
  'Return-Path: <>',
  'From: MAILER-DAEMON@mx.example.com (Mail Delivery System)',
  'To: anna@example.com',
  'Auto-Submitted: auto-replied',
  'Message-ID: <20260302100001.AB12@mx.example.com>',
];
