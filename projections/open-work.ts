/** The open work of all organisations in numbers, for monitoring the gateway. */
import type { Sql } from '../commands/ports/ports.ts';
import { statusAt } from './approval-queries.ts';
import { OPEN } from './approvals.ts';
import { UNSETTLED } from './operations.ts';

export interface OpenWork {
  readonly approvalsWaiting: number;
  /** Seconds since the oldest of them was requested; 0 = none waits. */
  readonly oldestApprovalSeconds: number;
  /** Approvals that expired in the last 24 hours before their quorum was reached. */
  readonly approvalsExpired: number;
  readonly operationsUnknown: number;
  /** The mail server has not accepted them yet. */
  readonly sendsWaiting: number;
  /** Mails of the gateway itself that were tried without success and are tried again. */
  readonly systemMailsRetried: number;
  /** Mails of the gateway itself that were given up in the last 24 hours. */
  readonly systemMailsFailed: number;
}

type Column =
  | 'approvals_waiting'
  | 'oldest_approval'
  | 'approvals_expired'
  | 'operations_unknown'
  | 'sends_waiting'
  | 'mails_retried'
  | 'mails_failed';

/** Each number comes from an index on open or new rows, however long the log is. */
export async function countOpenWork(sql: Sql, now: Date): Promise<OpenWork> {
  const [row] = await sql.query<Record<Column, string>>(
    `select waiting.*,
       (select count(*) from read.approval where status = 'expired' and not was_granted
          and expires_at > $1::timestamptz - interval '1 day') as approvals_expired,
       (select count(*) from read.operation where ${UNSETTLED} and state = 'unknown') as operations_unknown,
       (select count(*) from read.send s where phase = 'waiting' and (not told or exists (
          select from read.approval where id = 'chk' || substr(operation_id, 4) and ended_at is null))) as sends_waiting,
       (select count(*) from read.system_mail where status = 'waiting' and attempts > 0) as mails_retried,
       (select count(*) from read.system_mail where status = 'failed'
          and due_at > $1::timestamptz - interval '1 day') as mails_failed
     from (
       select count(*) as approvals_waiting,
         coalesce(greatest(extract(epoch from $1 - min(created_at)), 0), 0) as oldest_approval
       from read.approval where ${OPEN} and approver_role is not null and ${statusAt('$1')} = 'awaiting_approval'
     ) waiting`,
    [now],
  );
  const of = (column: Column): number => Number(row?.[column] ?? 0);
  return {
    approvalsWaiting: of('approvals_waiting'),
    oldestApprovalSeconds: of('oldest_approval'),
    approvalsExpired: of('approvals_expired'),
    operationsUnknown: of('operations_unknown'),
    sendsWaiting: of('sends_waiting'),
    systemMailsRetried: of('mails_retried'),
    systemMailsFailed: of('mails_failed'),
  };
}
