/**
 * Reads delivery reports (RFC 3464), sieve rejections (RFC 5429 2.1) and the common notices in free form. Pure, never fails, and
 * bounded whatever the text: everybody can send one.
 */
import { cleanText } from './fold-text.ts';
import { bareMessageId } from './matches.ts';
import {
  FAILURE_SUBJECT,
  isAutomatic,
  isDaemon,
  isNotice,
  type Notice,
  noticedIn,
  noticeOf,
} from './failure-notice.ts';
import type { FetchedMessage } from './message.ts';
import {
  type Entity,
  entityOf,
  first,
  type Headers,
  headersOf,
  type Leaf,
  leavesOf,
} from './report-parts.ts';
import {
  ENHANCED,
  MOST_RECIPIENTS,
  REPORT_ACTIONS,
  type ReportAction,
  type ReportedRecipient,
  shown,
} from './reported-recipient.ts';

export interface DeliveryReport {
  /** At least one. */
  readonly recipients: readonly ReportedRecipient[];
  /** Which message it may be about, without angle brackets, the likeliest first; at least one. */
  readonly messageIds: readonly string[];
}

/** What is read of a report: its own parts come before the message it returns. */
export const REPORT_BYTES = 256 * 1024;
const MOST_IDS = 10;
const REPORT_TYPES =
  /^(?:message\/(?:global-)?(?:delivery-status|disposition-notification)|(?:text|message)\/(?:rfc822|global)-headers)$/i;
const RETURNED_TYPES = /^(?:message\/(?:rfc822|global)|(?:text|message)\/(?:rfc822|global)-headers)$/;
/** By its envelope, a message that is worth reading as a report; few others are. */
export const mayBeReport = ({
  from,
  subject,
  autoSubmitted,
  attachments,
}: Pick<FetchedMessage, 'from' | 'subject' | 'autoSubmitted' | 'attachments'>): boolean =>
  attachments.some(({ contentType }) => REPORT_TYPES.test(contentType)) ||
  from.some(({ email }) => isDaemon(email)) ||
  (isAutomatic(autoSubmitted) && FAILURE_SUBJECT.test(subject ?? ''));

/** The report in the first bytes of a message; null when it is none, or does not say which message it is about. */
export function readDeliveryReport(bytes: Uint8Array): DeliveryReport | null {
  const message = entityOf(Buffer.from(bytes.subarray(0, REPORT_BYTES)).toString('latin1'));
  const [type] = message.headers.get('content-type') ?? [''];
  if (/report-type\s*=\s*"?feedback-report/i.test(type ?? '')) return null;
  const leaves = leavesOf(message, 0);
  const notice = noticeOf(leaves);
  const recipients = firstFilled(
    () => (isTrusted(message, type ?? '') ? statusOf(leaves) : []),
    () => rejectionOf(message, leaves, notice),
    () => (isNotice(message.headers) ? noticedIn(message.headers, notice) : []),
  );
  const messageIds = messageIdsOf(message.headers, leaves);
  if (recipients.length === 0 || messageIds.length === 0) return null;
  return { recipients: recipients.slice(0, MOST_RECIPIENTS), messageIds };
}

type Recipients = readonly ReportedRecipient[];

function firstFilled(...ways: readonly (() => Recipients)[]): Recipients {
  for (const way of ways) {
    const found = way();
    if (found.length > 0) return found;
  }
  return [];
}

/** Outside a report only a mail server's status counts: people forward reports, too. */
const isTrusted = ({ headers }: Entity, type: string): boolean =>
  /^multipart\/report\b/i.test(type) || isNotice(headers);

const groupsOf = (leaves: readonly Leaf[], type: RegExp): readonly Headers[] =>
  leaves
    .filter((leaf) => type.test(leaf.type))
    .flatMap(({ text }) => text.split(/\r?\n[ \t]*\r?\n/))
    .map(headersOf);

const STATUS_TYPE = /^message\/(?:global-)?delivery-status$/;
const DISPOSITION_TYPE = /^message\/(?:global-)?disposition-notification$/;

const statusOf = (leaves: readonly Leaf[]): Recipients =>
  groupsOf(leaves, STATUS_TYPE).flatMap((group): Recipients => {
    const address = addressIn(group);
    const status = ENHANCED.exec(first(group, 'status'))?.[0] ?? null;
    const action = actionOf(first(group, 'action'), status);
    if (address === null || action === null) return [];
    const diagnostic = shown(untyped(first(group, 'diagnostic-code')));
    return [{ address, action, status, diagnostic, remoteMta: shown(untyped(first(group, 'remote-mta'))) }];
  });

/** `rfc822; bob@example.com` */
const untyped = (value: string): string => value.slice(value.indexOf(';') + 1).trim();

function addressIn(group: Headers): string | null {
  const named = ['original-recipient', 'final-recipient']
    .map((name) => untyped(first(group, name)).replace(/^<(.*)>$/, '$1'))
    .filter((address) => /^[^\s<>]{1,320}$/.test(address));
  return cleaned(named.find((address) => address.includes('@')) ?? named[0]);
}

function actionOf(value: string, status: string | null): ReportAction | null {
  const word = /^[a-z]+/i.exec(value)?.[0].toLowerCase();
  const known = REPORT_ACTIONS.find((action) => action === word);
  if (known !== undefined || status === null) return known ?? null;
  return status.startsWith('5') ? 'failed' : status.startsWith('4') ? 'delayed' : null;
}

const cleaned = (text: string | undefined): string | null => (text === undefined ? null : cleanText(text));

/** A sieve script refused the message after its delivery. Dispositions that a reader's program sends are no failures. */
function rejectionOf({ headers }: Entity, leaves: readonly Leaf[], notice: Notice): Recipients {
  const isRejection =
    /reject/i.test(first(headers, 'auto-submitted')) || /reject/i.test(first(headers, 'subject'));
  if (!isRejection) return [];
  return groupsOf(leaves, DISPOSITION_TYPE).flatMap((group): Recipients => {
    const address = addressIn(group);
    const isDeleted = /automatic-action\b.*;\s*deleted/i.test(first(group, 'disposition'));
    if (address === null || !isDeleted) return [];
    return [{ address, action: 'failed', status: null, diagnostic: shown(notice.words), remoteMta: null }];
  });
}

const MESSAGE_ID = /<[^<>\s]{1,900}>/g;
const ID_IN_TEXT = /^[ \t>]{0,8}message-id:\s{0,8}(<[^<>\s]{1,900}>)/gim;

function messageIdsOf(headers: Headers, leaves: readonly Leaf[]): readonly string[] {
  const returned = leaves
    .filter(({ type }) => RETURNED_TYPES.test(type))
    .flatMap(({ text }) => first(entityOf(text.trimStart()).headers, 'message-id').match(MESSAGE_ID) ?? []);
  const stated = groupsOf(
    leaves,
    /^message\/(?:global-)?(?:delivery-status|disposition-notification)$/,
  ).flatMap((group) =>
    ['x-original-message-id', 'original-message-id'].flatMap(
      (name) => first(group, name).match(MESSAGE_ID) ?? [],
    ),
  );
  const copied = leaves
    .filter(({ type }) => type === 'text/plain')
    .flatMap(({ text }) => [...text.matchAll(ID_IN_TEXT)].slice(0, 3).map(([, id = '']) => id));
  // Of the references only the last: those before it are about earlier messages of the conversation.
  const answered = ['in-reply-to', 'references'].flatMap(
    (name) => first(headers, name).match(MESSAGE_ID)?.slice(-1) ?? [],
  );
  const all = [...returned, ...stated, ...copied, ...answered].map(bareMessageId);
  return [...new Set(all)].filter((id) => cleanText(id) === id).slice(0, MOST_IDS);
}

/** The report's own Message-ID; null without one. */
export const messageIdOfReport = (bytes: Uint8Array): string | null => {
  const { headers } = entityOf(Buffer.from(bytes.subarray(0, REPORT_BYTES)).toString('latin1'));
  return first(headers, 'message-id').match(MESSAGE_ID)?.map(bareMessageId)[0] ?? null;
};
