/** What a delivery report says of one recipient. */
import { cleanText } from './fold-text.ts';

/** RFC 3464 2.3.3. */
export const REPORT_ACTIONS = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const;
export type ReportAction = (typeof REPORT_ACTIONS)[number];

export interface ReportedRecipient {
  /** The address as it was written to, where the report names it, else the final one. */
  readonly address: string;
  readonly action: ReportAction;
  /** Enhanced status code (RFC 3463); `5.0.0` and `4.0.0` where a notice has only a reply code. */
  readonly status: string | null;
  /** What a mail server said. */
  readonly diagnostic: string | null;
  /** The server that said it. */
  readonly remoteMta: string | null;
}

/** More recipients of one report are left out. */
export const MOST_RECIPIENTS = 100;
const LONGEST_DIAGNOSTIC = 1_000;

/** An enhanced status code (RFC 3463), and no part of an address. */
export const ENHANCED = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\.?\d)/;

/** As it may be shown; null for nothing. */
export function shown(text: string): string | null {
  const clean = cleanText(text.slice(0, 2 * LONGEST_DIAGNOSTIC))
    .replace(/ +/g, ' ')
    .trim();
  return clean === '' ? null : clean.slice(0, LONGEST_DIAGNOSTIC).toWellFormed();
}
