/** Composes the demo's messages as mail programs write them: encoded words, RFC 2231 names, multiparts. */

export interface SeedPerson {
  readonly name: string;
  readonly email: string;
}

export interface SeedAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: string;
}

export interface SeedContent {
  readonly from: SeedPerson;
  readonly to: readonly SeedPerson[];
  readonly cc?: readonly SeedPerson[];
  readonly subject: string;
  readonly sentAt: Date;
  readonly messageId: string;
  /** Message-IDs of the thread so far, oldest first. */
  readonly references?: readonly string[];
  readonly text: string;
  readonly html?: string;
  readonly attachments?: readonly SeedAttachment[];
  readonly headers?: readonly string[];
}

const LINE_BYTES = 76;
const WORD_BYTES = 45;
const PLAIN = /^[\u0020-\u007e]*$/;

/** The message as it lies in a mailbox. */
export function composeMessage(content: SeedContent): string {
  const { references = [], cc = [], headers = [] } = content;
  const lines = [
    `Date: ${content.sentAt.toUTCString().replace('GMT', '+0000')}`,
    `From: ${address(content.from)}`,
    `To: ${content.to.map(address).join(',\r\n ')}`,
    ...(cc.length > 0 ? [`Cc: ${cc.map(address).join(',\r\n ')}`] : []),
    `Subject: ${encodedWords(content.subject)}`,
    `Message-ID: ${content.messageId}`,
    ...(references.length > 0
      ? [`In-Reply-To: ${references.at(-1) ?? ''}`, `References: ${references.join('\r\n ')}`]
      : []),
    ...headers,
    'MIME-Version: 1.0',
  ];
  return [...lines, ...withAttachments(content)].join('\r\n');
}

const address = ({ name, email }: SeedPerson): string =>
  PLAIN.test(name) ? `"${name}" <${email}>` : `${encodedWords(name)} <${email}>`;

/** RFC 2047, in words of at most 75 characters that never split a character. */
function encodedWords(text: string): string {
  if (PLAIN.test(text)) return text;
  const words: string[] = [];
  let word = '';
  for (const character of text) {
    if (Buffer.byteLength(word + character) > WORD_BYTES) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  words.push(word);
  return words.map((part) => `=?UTF-8?B?${Buffer.from(part).toString('base64')}?=`).join('\r\n ');
}

function withAttachments(content: SeedContent): readonly string[] {
  const { attachments = [] } = content;
  const body = bodyOf(content);
  if (attachments.length === 0) return body;
  return multipart('mixed', content.messageId, [body, ...attachments.map(attachmentPart)]);
}

function bodyOf({ text, html, messageId }: SeedContent): readonly string[] {
  const plain = textPart('plain', text);
  return html === undefined ? plain : multipart('alternative', messageId, [plain, textPart('html', html)]);
}

function multipart(
  type: string,
  messageId: string,
  parts: readonly (readonly string[])[],
): readonly string[] {
  const boundary = `${type}-${messageId.replaceAll(/[^a-z0-9]/gi, '')}`;
  return [
    `Content-Type: multipart/${type}; boundary="${boundary}"`,
    '',
    ...parts.flatMap((part) => [`--${boundary}`, ...part]),
    `--${boundary}--`,
    '',
  ];
}

const textPart = (type: string, text: string): readonly string[] => [
  `Content-Type: text/${type}; charset=utf-8`,
  'Content-Transfer-Encoding: quoted-printable',
  '',
  quotedPrintable(text),
  '',
];

const attachmentPart = ({ filename, contentType, content }: SeedAttachment): readonly string[] => [
  `Content-Type: ${contentType}`,
  'Content-Transfer-Encoding: base64',
  `Content-Disposition: attachment; ${filenameParameter(filename)}`,
  '',
  ...base64Lines(content),
  '',
];

/** RFC 2231 where the name is not ASCII. */
const filenameParameter = (filename: string): string =>
  PLAIN.test(filename) ? `filename="${filename}"` : `filename*=utf-8''${encodeURIComponent(filename)}`;

const base64Lines = (content: string): readonly string[] =>
  Buffer.from(content)
    .toString('base64')
    .match(/.{1,76}/g) ?? [];

/** RFC 2045 6.7. */
function quotedPrintable(text: string): string {
  return text
    .split('\n')
    .map((line) => softBreaks(encodeLine(line)))
    .join('\r\n');
}

const encodeLine = (line: string): readonly string[] =>
  Array.from(Buffer.from(line), (byte, index, bytes = Buffer.from(line)) => {
    const isLast = index === bytes.length - 1;
    const isLiteral = (byte > 32 && byte < 127 && byte !== 61) || (byte === 32 && !isLast);
    return isLiteral ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  });

function softBreaks(tokens: readonly string[]): string {
  const lines: string[] = [];
  let line = '';
  for (const token of tokens) {
    if (line.length + token.length > LINE_BYTES - 1) {
      lines.push(`${line}=`);
      line = '';
    }
    line += token;
  }
  return [...lines, line].join('\r\n');
}
