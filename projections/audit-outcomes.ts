/** How a line of the audit trail ended. */
import { type ErrorCode, ERROR_TABLE } from '../commands/values/errors.ts';
import type { PastFact } from '../commands/values/event.ts';
import type {
  ItemResult,
  OperationDecided,
  SendOutcome,
  Summary,
} from '../commands/operations/operation-events.ts';

export const AUDIT_OUTCOMES = ['allowed', 'denied', 'pending', 'failed'] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** Refusals because of the caller's identity or rights are `denied`; any other error is `failed`. */
export function outcomeOfCode(code: string): AuditOutcome {
  const status = code in ERROR_TABLE ? ERROR_TABLE[code as ErrorCode].status : 500;
  return [401, 403, 404, 429].includes(status) ? 'denied' : 'failed';
}

export const outcomeOfResults = ({ results }: { readonly results: readonly ItemResult[] }): AuditOutcome =>
  outcomeOfCounts({
    unknown: results.filter(({ outcome }) => outcome === 'unknown').length,
    failed: results.filter(({ outcome }) => outcome === 'failed').length,
  });

export const outcomeOfCounts = ({ unknown, failed }: Pick<Summary, 'unknown' | 'failed'>): AuditOutcome =>
  unknown > 0 ? 'pending' : failed > 0 ? 'failed' : 'allowed';

export const DECISIONS = { allow: 'allowed', require: 'pending', deny: 'denied' } as const satisfies Record<
  PastFact<typeof OperationDecided>['data']['decision'],
  AuditOutcome
>;

export const SEND_OUTCOMES = {
  done: 'allowed',
  failed: 'failed',
  unknown: 'pending',
} as const satisfies Record<SendOutcome['outcome'], AuditOutcome>;
