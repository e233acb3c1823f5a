import type { RequirementId } from '../../requirements.ts';

/**
 * Names the rules a test proves: `` it(`answers 404 ${verifies('contract:2:session-bound')}`, …) ``. The ids
 * are literals, because `requirements.test.ts` finds them in the text of the tests.
 */
export const verifies = (...ids: readonly [RequirementId, ...RequirementId[]]): string =>
  `[${ids.join(' ')}]`;
