/** All read models, in the order in which one subscription feeds them. */
import { approvals } from '../../projections/approvals.ts';
import { audit } from '../../projections/audit.ts';
import { directory } from '../../projections/directory-projection.ts';
import { draftReviews } from '../../projections/draft-reviews.ts';
import { drafts } from '../../projections/drafts.ts';
import { messageMoves } from '../../projections/message-moves.ts';
import { operations } from '../../projections/operations.ts';
import { sends } from '../../projections/sends.ts';
import { approverNotices } from '../../projections/approver-notices.ts';
import { systemMails } from '../../projections/system-mail.ts';
import { webhooks } from '../../projections/webhooks.ts';
import type { Projection } from '../../projections/projection.ts';

export const READ_MODELS: readonly Projection[] = [
  directory,
  operations,
  approvals,
  messageMoves,
  drafts,
  sends,
  draftReviews,
  audit,
  webhooks,
  systemMails,
  approverNotices,
];
