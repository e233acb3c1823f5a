/** Asks for the mails that tell people of approvals they may decide (`contract.md` 9). */
import { systemAuthor } from '../kernel/decide-and-append.ts';
import type { MembersByOrg } from '../kernel/membership.ts';
import { eligibleApprovers, personBehind } from '../operations/eligible-approvers.ts';
import type { ApprovalTerms } from '../operations/approval-events.ts';
import type { DirectoryState } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { uuidV5 } from '../values/ids.ts';
import { noticesDue, type NoticesDue, type Told, type WaitingApproval } from './notices-due.ts';

/** An approval that waits for votes, as it is listed. */
export interface UndecidedApproval extends Omit<WaitingApproval, 'voters'> {
  readonly requesterId: string;
  readonly terms: Pick<ApprovalTerms, 'approver_role' | 'exclude_owner'>;
  /** Those who voted. */
  readonly votedIds: readonly string[];
}

type State = MembersByOrg & Pick<DirectoryState, 'agents'>;

/** The approvals with those who may still vote on them. */
function waitingFor(
  state: State,
  orgId: string,
  approvals: readonly UndecidedApproval[],
): readonly WaitingApproval[] {
  // Many approvals have the same approvers, and finding them goes over the members.
  const known = new Map<string, readonly string[]>();
  const eligible = (behindId: string, terms: UndecidedApproval['terms']): readonly string[] => {
    const key = `${terms.approver_role} ${terms.exclude_owner ? behindId : ''}`;
    const found = known.get(key) ?? eligibleApprovers(state, { orgId, behindId }, terms);
    known.set(key, found);
    return found;
  };
  return approvals.map(({ requesterId, terms, votedIds, ...approval }) => ({
    ...approval,
    voters: eligible(personBehind(state, { id: requesterId }), terms).filter(
      (userId) => !votedIds.includes(userId),
    ),
  }));
}

const NOTHING_TOLD: Told = { last: null, approvals: new Map() };

/**
 * Requests every notice that is due in an organisation. Each has one successor, because its id is made of the one before:
 * two processes, or one that sees old rows, ask for the same mail. Returns when to look again.
 */
export async function requestNotices(
  ports: Pick<Ports, 'clock' | 'directory' | 'events' | 'ids'>,
  {
    orgId,
    approvals,
    told,
  }: {
    readonly orgId: string;
    readonly approvals: readonly UndecidedApproval[];
    readonly told: ReadonlyMap<string, Told>;
  },
): Promise<NoticesDue> {
  const { state } = ports.directory;
  const waiting = waitingFor(state, orgId, approvals);
  const people = new Map(
    [...new Set(waiting.flatMap(({ voters }) => voters))].map((userId) => [
      userId,
      { level: state.people.get(userId)?.notifications ?? 'off', told: told.get(userId) ?? NOTHING_TOLD },
    ]),
  );
  const due = noticesDue(waiting, people, ports.clock.now());
  const author = systemAuthor(ports, orgId);
  for (const { userId, previousId, approvalIds, remindedIds } of due.notices) {
    await requestMail(ports, author, uuidV5('approver-notice', orgId, userId, previousId ?? ''), {
      ...{ kind: 'approvals_waiting', user_id: userId, to: null },
      approval_ids: [...approvalIds],
      reminded_ids: [...remindedIds],
    });
  }
  return due;
}
