/** What an approver must know before the decision: one list, the worst first. */
import { z } from 'zod';
import { counted } from '../values/counted.ts';
import type { ActionsManifest } from './manifest.ts';
import { MOST_TOLD, WARNING_CODES, type WarningCode } from './warning-codes.ts';

export const ApprovalWarning = z.object({
  code: z.enum(WARNING_CODES),
  severity: z.enum(['high', 'medium', 'low']),
  text: z
    .string()
    .describe('A sentence for people; text written by others is included with everything invisible marked.'),
});
export type ApprovalWarning = z.output<typeof ApprovalWarning>;

export const high = (code: ApprovalWarning['code'], text: string): ApprovalWarning => ({
  code,
  severity: 'high',
  text,
});
export const medium = (code: ApprovalWarning['code'], text: string): ApprovalWarning => ({
  ...{ code, severity: 'medium', text },
});
export const low = (code: ApprovalWarning['code'], text: string): ApprovalWarning => ({
  code,
  severity: 'low',
  text,
});

const RANK = { high: 0, medium: 1, low: 2 } as const;

/** Each once, the worst first. */
export function worstFirst(warnings: readonly ApprovalWarning[]): ApprovalWarning[] {
  const distinct = new Map(warnings.map((warning) => [`${warning.code} ${warning.text}`, warning]));
  return [...distinct.values()].sort(
    (a, b) =>
      RANK[a.severity] - RANK[b.severity] || WARNING_CODES.indexOf(a.code) - WARNING_CODES.indexOf(b.code),
  );
}

export const OWN_REQUEST = medium('own_request', 'You, or an agent of yours, requested this.');

/** The warnings of a change of messages itself. */
export const actionsWarnings = ({ steps, items }: ActionsManifest): readonly ApprovalWarning[] =>
  steps.some(({ action }) => action === 'expunge')
    ? [
        high(
          'permanent_deletion',
          `${counted(items.length, 'message')} deleted permanently and cannot be restored.`,
        ),
      ]
    : [];

const Warnings = z.array(ApprovalWarning);

/** As the event stores them, before they are sealed. */
export const warningsText = (warnings: readonly ApprovalWarning[]): string =>
  JSON.stringify(worstFirst(warnings));
/** The worst, each once. */
export const worstCodes = (warnings: readonly ApprovalWarning[]): WarningCode[] =>
  [...new Set(worstFirst(warnings).map(({ code }) => code))].slice(0, MOST_TOLD);

/** Null where none were recorded, or they were erased. */
export const openWarnings = (text: string | null): ApprovalWarning[] | null =>
  text === null ? null : Warnings.parse(JSON.parse(text));
