/** Notices of mail servers in free form, as they were before RFC 3464 and still are in places. Pure, never fails. */
import { cleanText } from './fold-text.ts';
import { first, type Headers, type Leaf } from './report-parts.ts';
import { ENHANCED, MOST_RECIPIENTS, type ReportedRecipient, shown } from './reported-recipient.ts';

const MOST_LINES = 3_000;
const LONGEST_LINE = 2_000;
/** Lines that belong to one recipient. */
const MOST_REASON_LINES = 20;

const DAEMON = /^(?:mailer-?daemon|postmaster|mail-?daemon|mdaemon|microsoftexchange[0-9a-f]{8,64})$/i;
export const FAILURE_SUBJECT =
  /undeliver|delivery (?:status|failure|failed|has failed|problem|report|incomplete|delayed|warning)|returned (?:mail|to sender)|failure notice|mail (?:delivery|system error)|could not be delivered|(?:un|nicht )zustellbar|non remis|no entregad|rejected/i;

export const isDaemon = (address: string): boolean => DAEMON.test(address.slice(0, address.lastIndexOf('@')));

export const isAutomatic = (autoSubmitted: string | null | undefined): boolean =>
  autoSubmitted != null && !/^\s*no\b/i.test(autoSubmitted);

const linesOf = (text: string): readonly string[] =>
  text.split(/\r?\n/, MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));

export interface Notice {
  readonly lines: readonly string[];
  readonly words: string;
  /** With the copy of the message that was returned. */
  readonly whole: string;
}

const COPY_BEGINS =
  /^\W{0,80}(?:below this line is a copy|this is a copy of (?:the|your) message|original message\b|included is a copy|unsent message below|message header|returned message|(?:the )?headers? of (?:the|your) message)/i;

export function noticeOf(leaves: readonly Leaf[]): Notice {
  const whole = leaves.find(({ type }) => type === 'text/plain')?.text ?? '';
  const all = linesOf(whole);
  const copyAt = all.findIndex((line) => COPY_BEGINS.test(line));
  const lines = copyAt < 0 ? all : all.slice(0, copyAt);
  return { lines, words: lines.join(' '), whole };
}

/** Sent by a mail server, and not by somebody's answering machine. */
export function isNotice(headers: Headers): boolean {
  const from = first(headers, 'from');
  const address = /<([^<>]*)>[^<>]*$/.exec(from)?.[1] ?? from;
  if (isDaemon(address.trim())) return true;
  const isNobodys = isAutomatic(headers.get('auto-submitted')?.[0]) || first(headers, 'return-path') === '<>';
  return isNobodys && FAILURE_SUBJECT.test(first(headers, 'subject'));
}

const DELAYED =
  /not yet been delivered|has been delayed|is delayed|delivery (?:is |was )?delayed|warning (?:message )?only|will (?:continue|keep|be retried)|still (?:being )?(?:trying|retried)/i;
const GIVEN_UP = /permanent|giv(?:en|ing) up|not going to try again/i;
const FAILED =
  /(?:could|can|was|were|did|has|have|is|are)(?: not|n't|not) (?:be |been |able to )?(?:deliver|reach)|unable to deliver|(?:delivery|message)[^.]{0,80} (?:has )?failed|following address(?:es)? failed|permanent|undeliver|fatal error|rejected|returned to (?:its )?sender/i;
const ADDRESS_LINE =
  /^\s{0,20}<?([^\s<>()[\]",;:@]{1,64}@[^\s<>()[\]",;:@]{1,255})>?(?=\s*$|:|\s*\(|\s+on \d)(.*)$/;
const REPLY_CODE = /(?<![\d.])([45])\d\d(?=[ -])/;

export function noticedIn(headers: Headers, notice: Notice): readonly ReportedRecipient[] {
  const isDelayed = DELAYED.test(notice.words) && !GIVEN_UP.test(notice.words);
  if (!isDelayed && !FAILED.test(notice.words)) return [];
  const listed = first(headers, 'x-failed-recipients')
    .split(',', MOST_RECIPIENTS)
    .map((address) => address.trim())
    .filter((address) => /^[^\s<>@]{1,64}@[^\s<>@]{1,255}$/.test(address));
  const reasons = reasonsIn(notice.lines);
  const addresses = listed.length > 0 ? [...new Set(listed)] : [...reasons.keys()];
  return addresses.slice(0, MOST_RECIPIENTS).map((address) => {
    const own = reasons.get(address) ?? '';
    const said = addresses.length === 1 && codeIn(own) === null ? notice.words : own;
    return {
      address: cleanText(address),
      action: isDelayed ? 'delayed' : 'failed',
      status: codeIn(said),
      diagnostic: shown(own) ?? (codeIn(said) === null ? null : shown(said)),
      remoteMta: null,
    };
  });
}

function codeIn(text: string): string | null {
  const enhanced = ENHANCED.exec(text)?.[0];
  if (enhanced !== undefined) return enhanced;
  const reply = REPLY_CODE.exec(text)?.[1];
  return reply === undefined ? null : `${reply}.0.0`;
}

/** Each address at the beginning of a line, and what follows up to an empty line or the next address. */
function reasonsIn(lines: readonly string[]): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    const [, address, rest = ''] = ADDRESS_LINE.exec(line) ?? [];
    if (address === undefined || reasons.has(address)) continue;
    const following = lines.slice(at + 1, at + 1 + MOST_REASON_LINES);
    const end = following.findIndex((each) => each.trim() === '' || ADDRESS_LINE.test(each));
    const own = end < 0 ? following : following.slice(0, end);
    reasons.set(
      address,
      [rest.replace(/^\s*:/, ''), ...own]
        .map((each) => each.trim())
        .join(' ')
        .trim(),
    );
    if (reasons.size >= MOST_RECIPIENTS) break;
  }
  return reasons;
}
