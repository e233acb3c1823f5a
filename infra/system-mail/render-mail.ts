/** Writes a mail as plain text and as HTML, from the same declaration and in the same order. */
import { escaped, PRODUCT } from '../../commands/html/html-markup.ts';
import type { MailItem, MailText } from './mail-parts.ts';

interface Rendered {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** `host` is that of the gateway, so that one sees which installation writes. */
export const renderMail = (mail: MailText, host: string): Rendered => ({
  subject: mail.subject,
  text: textOf(mail, host),
  html: htmlOf(mail, host),
});

const signature = (host: string): string => `${PRODUCT} at ${host}`;

const UNSUBSCRIBE = 'Stop these mails';

function textOf(mail: MailText, host: string): string {
  const { preheader, items, paragraphs, action, footer, unsubscribe } = mail;
  const blocks = [
    preheader,
    ...items.map(({ title, lines, href }) => [title, ...(href === null ? [] : [href]), ...lines].join('\n')),
    ...(action === null ? [] : [`${action.label}\n${action.href}`]),
    ...paragraphs,
    footer,
    ...(unsubscribe === null ? [] : [`${UNSUBSCRIBE}\n${unsubscribe}`]),
    signature(host),
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** Isolated, so that the writing direction of a name cannot rearrange what stands around it. */
const paragraph = (text: string, style = ''): string =>
  `<p dir="auto" style="margin:0 0 16px;${style}">${escaped(text)}</p>`;

const anchor = (label: string, href: string, { kind, style }: { kind: string; style: string }): string =>
  `<a class="${kind}" href="${escaped(href)}" style="${style}">${escaped(label)}</a>`;

const itemOf = ({ title, lines, href }: MailItem): string => {
  const heading =
    href === null
      ? escaped(title)
      : anchor(title, href, { kind: 'accent', style: 'color:#0b57d0;text-decoration:underline' });
  return `<div class="edge" style="margin:0 0 16px;padding:0 0 0 12px;border-left:3px solid #d5d9df">
<p dir="auto" style="margin:0;font-weight:600">${heading}</p>
${lines.map((line) => `<p dir="auto" style="margin:4px 0 0">${escaped(line)}</p>`).join('\n')}
</div>`;
};

/** Readable in both schemes; the style of each element stays where a mail program drops this one. */
const STYLE = `
:root { color-scheme: light dark; supported-color-schemes: light dark }
@media (prefers-color-scheme: dark) {
  .ground, body { background: #0f1115 !important; color: #e8eaed !important }
  .card { background: #191c22 !important; border-color: #343a44 !important }
  .quiet { color: #a5adb8 !important }
  .edge { border-color: #343a44 !important }
  .accent { color: #8ab4f8 !important }
  .button { background: #8ab4f8 !important; color: #0a1a33 !important }
}
`;

const BUTTON =
  'display:inline-block;padding:12px 20px;border-radius:8px;background:#0b57d0;color:#ffffff;font-weight:600;text-decoration:none';

function htmlOf(mail: MailText, host: string): string {
  const { subject, preheader, items, paragraphs, action, footer, unsubscribe } = mail;
  const button =
    action === null
      ? []
      : [
          `<p style="margin:8px 0 24px">${anchor(action.label, action.href, { kind: 'button', style: BUTTON })}</p>`,
        ];
  const quiet = 'color:#57606a;font-size:13px;';
  const stop =
    unsubscribe === null
      ? []
      : [
          `<p style="margin:0 0 16px;font-size:13px">${anchor(UNSUBSCRIBE, unsubscribe, { kind: 'accent', style: 'color:#0b57d0' })}</p>`,
        ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${escaped(subject)}</title>
<style>${STYLE}</style>
</head>
<body class="ground" style="margin:0;padding:0;background:#f3f4f6;color:#1b1f24">
<div class="ground" style="padding:16px;background:#f3f4f6;color:#1b1f24;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
<div class="card" style="max-width:544px;margin:0 auto;padding:20px;background:#ffffff;border:1px solid #d5d9df;border-radius:12px;overflow-wrap:anywhere;word-break:break-word">
${[paragraph(preheader), ...items.map(itemOf), ...button, ...paragraphs.map((text) => paragraph(text))].join('\n')}
<div class="quiet edge" style="border-top:1px solid #d5d9df;padding-top:16px;${quiet}">
${[`<p dir="auto" class="quiet" style="margin:0 0 16px;${quiet}">${escaped(footer)}</p>`, ...stop].join('\n')}
<p class="quiet" style="margin:0;${quiet}">${escaped(signature(host))}</p>
</div>
</div>
</div>
</body>
</html>
`;
}
