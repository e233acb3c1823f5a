/** The pages a person sees on return from a mail provider, and the form of all such pages: one file, nothing loaded, everything escaped. */
import { escaped, PRODUCT } from '../../commands/html/html-markup.ts';
import { type ErrorCode, ERROR_TABLE } from '../../commands/values/errors.ts';
import { PROVIDER_CALLBACK_PATH } from '../../commands/ports/mail-logins.ts';
import type { AuthorizationSummary } from '../../commands/mailboxes/finish-authorization.ts';
import { STYLE, STYLE_SOURCE } from './provider-page-style.ts';

/** Fetch standard, "append a request Origin header": `no-referrer` would send the form's origin as `null`. */
const REFERRER_POLICY = 'same-origin';

/** For every page: only its own style applies, and its form is sent to this gateway only. */
export const PAGE_HEADERS = new Map([
  ['Content-Type', 'text/html; charset=utf-8'],
  ['Cache-Control', 'no-store'],
  ['Referrer-Policy', REFERRER_POLICY],
  ['X-Content-Type-Options', 'nosniff'],
  [
    'Content-Security-Policy',
    `default-src 'none'; style-src ${STYLE_SOURCE}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  ],
]);

/** Text from outside: isolated, so that its writing direction cannot rearrange the sentence around it. */
const foreign = (text: string): string => `<bdi>${escaped(text)}</bdi>`;

type Tone = 'ask' | 'done' | 'refused';

/** One page of the gateway for people; `content` is markup. */
export const page = (tone: Tone, title: string, content: string): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} – ${PRODUCT}</title>
<style>${STYLE}</style>
</head>
<body><main class="${tone}">
<p class="product">${PRODUCT}</p>
<h1>${escaped(title)}</h1>
${content}
</main></body>
</html>
`;

const facts = ({ organisation, email, requester, provider, hosts }: AuthorizationSummary): string =>
  [
    ['Mailbox', email],
    ['Organisation', organisation],
    ['Requested by', requester],
    ['Account at', provider],
    ['Mail servers', hosts.join(', ')],
  ]
    .map(([name = '', value = '']) => `<dt>${name}</dt><dd>${foreign(value)}</dd>`)
    .join('\n');

/** Describes what will happen, with the button that confirms it. `fields` are returned unchanged. */
export function consentPage(
  summary: AuthorizationSummary,
  fields: Readonly<Record<string, string>>,
  baseUrl: string,
): string {
  const inputs = Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`)
    .join('\n');
  const requester = foreign(summary.requester);
  return page(
    'ask',
    'Connect this mailbox?',
    `<p>${requester} of ${foreign(summary.organisation)} asked to read, change and send the mail of ${foreign(summary.email)} through this gateway. If you do not know who that is, close this page.</p>
<dl>
${facts(summary)}
</dl>
<form method="post" action="${escaped(baseUrl + PROVIDER_CALLBACK_PATH)}">
${inputs}
<button type="submit">Connect the mailbox</button>
</form>
<p class="note">Nothing is connected yet. This does not sign in to the gateway: the mailbox is connected in the name of ${requester}.</p>`,
  );
}

export const connectedPage = (summary: AuthorizationSummary): string =>
  page(
    'done',
    'The mailbox is being connected',
    `<p>${foreign(summary.organisation)} may use the mailbox now. You can end that at the gateway and in the account's settings at ${escaped(summary.provider)}.</p>
<dl>
${facts(summary)}
</dl>
<p>You can close this page.</p>`,
  );

/** True of every refusal with this code: a late one says nothing about the first attempt. */
function titleOf(code: ErrorCode): string {
  if (code === 'not_found') return 'This link is no longer good';
  return ERROR_TABLE[code].status < 500 ? 'Nothing was connected' : 'This could not be finished';
}

/** The refusal in the words of the error; `requestId` finds it in the log. */
export const refusalPage = (code: ErrorCode, message: string, requestId: string): string =>
  page(
    'refused',
    titleOf(code),
    `<p>${foreign(message)}</p>
<p>You can close this page. The person who sent you here can request a new authorization.</p>
<p class="note">Request ${escaped(requestId)}</p>`,
  );
