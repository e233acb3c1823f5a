import { expect } from 'chai';
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Fact } from '../../../commands/values/event.ts';
import type { Projector } from '../../../infra/projector/projector.ts';
import { draftReviews, listLeftReviews } from '../../../projections/draft-reviews.ts';
import { happened } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

describe('the search for drafts and approvals of which one was left behind', () => {
  let rig: Rig;
  let projector: Projector;
  let count = 0;
  before(async () => {
    rig = await openRig();
    projector = await rig.start({ projections: [draftReviews] });
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** What happens to a draft and to its approval, in this order; whether they are listed afterwards. */
  const isLeft = async (...types: readonly string[]): Promise<boolean> => {
    count += 1;
    const [draftId, operationId] = [`drf_${String(count)}`, `opn_${String(count)}`];
    const own = { operation_id: operationId, draft_id: draftId, approval_id: `chk_${String(count)}` };
    for (const type of types) {
      const isOfDraft = /Draft|Send/.test(type);
      const sample = SAMPLE_EVENTS[type as AnyEvent['type']] as Readonly<Record<string, unknown>>;
      const fact = { type, data: { ...sample, ...own } } as unknown as Fact<AnyEvent>;
      await happened(rig.events, isOfDraft ? `draft-${draftId}` : `operation-${operationId}`, [fact]);
    }
    await rig.settle(projector);
    const left = await listLeftReviews(rig.sql, {
      since: new Date(Date.now() + 60_000),
      except: [],
      limit: 100,
    });
    return left.some((review) => review.operationId === operationId && review.draftId === draftId);
  };

  for (const [title, types] of [
    ['a draft that was frozen, and nobody asked', ['DraftFrozen']],
    ['a draft whose approval was rejected', ['DraftFrozen', 'ApprovalRequested', 'ApprovalRejected']],
    ['a draft whose approval expired', ['DraftFrozen', 'ApprovalRequested', 'ApprovalExpired']],
    ['an approval whose draft was edited', ['DraftFrozen', 'ApprovalRequested', 'DraftEdited']],
    ['an approval whose draft was discarded', ['DraftFrozen', 'ApprovalRequested', 'DraftDiscarded']],
    ['an approval that was requested after its draft was released', ['DraftFrozen', 'DraftReleased', 'ApprovalRequested']],
  ] as const) {
    it(`finds ${title}`, async () => {
      expect(await isLeft(...types)).to.equal(true);
    });
  } // prettier-ignore

  for (const types of [
    ['DraftFrozen', 'ApprovalRequested'],
    ['DraftFrozen', 'ApprovalRequested', 'SendStarted', 'SendPostponed'],
    ['DraftFrozen', 'ApprovalRequested', 'SendStarted', 'DraftSendUnknown'],
    ['DraftFrozen', 'ApprovalRequested', 'SendStarted', 'DraftSent', 'ApprovalCommitted'],
    ['DraftFrozen', 'ApprovalRequested', 'ApprovalCancelled', 'DraftReleased'],
    ['DraftFrozen', 'ApprovalRequested', 'DraftEdited', 'ApprovalSuperseded'],
    ['DraftFrozen', 'DraftReleased'],
  ] as const) {
    it(`finds nothing after ${types.join(', ')}`, async () => {
      expect(await isLeft(...types)).to.equal(false);
    });
  }
});
