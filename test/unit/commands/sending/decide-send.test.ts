import { draft, type DraftFact, type DraftState } from '../../../../commands/drafts/draft.ts';
import { type AttemptEnd, endAttempt, givenUp, sent } from '../../../../commands/sending/decide-send.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { sealSample } from '../../../support/samples/event-author.ts';
import { given, NOW, stateAfter } from '../../../support/suite/decider-spec.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';

const MINUTE_MS = 60_000;
const TIMES = {
  retryAfterMs: [MINUTE_MS],
  giveUpAfterMs: 60 * MINUTE_MS,
  judgeAfterMs: 15 * MINUTE_MS,
  ownCopyWithinMs: 5_000,
};
const started: DraftFact = { type: 'DraftStarted', data: SAMPLE_EVENTS.DraftStarted };
/** Frozen for an operation, with its first attempt running and the data sent. */
const begun = (operation_id: string): readonly DraftFact[] => [
  {
    type: 'DraftFrozen',
    data: {
      ...SAMPLE_EVENTS.DraftFrozen,
      operation_id,
      rfc_message_id: sealSample(`<of-${operation_id}@example.com>`),
    },
  },
  { type: 'SendStarted', data: { ...SAMPLE_EVENTS.SendStarted, operation_id } },
  { type: 'SendDataBegun', data: { operation_id, attempt: 1, rejected: [] } },
];
const sendOf = (...facts: readonly DraftFact[]) => {
  const { send } = stateAfter(draft, [started, ...facts]);
  if (send === null) throw new Error('nothing is sent');
  return send;
};
const accepted: AttemptEnd = {
  kind: 'accepted',
  response: 'sealed' as Sealed,
  replacedMessageId: null,
  rejected: [],
};
const refused: AttemptEnd = {
  kind: 'failed',
  failure: { phase: 'data', verdict: 'never', code: 'provider_rejected', smtpStatus: 550 },
  response: null,
  rejected: [],
};

describe('endAttempt', () => {
  const first = sendOf(...begun('opn_1'));
  const ends = (end: AttemptEnd) => (state: DraftState) =>
    endAttempt(state, first, end, { times: TIMES, now: NOW });
  const taken = sent(first, 'server', accepted);
  const unknown: DraftFact = { type: 'DraftSendUnknown', data: { operation_id: 'opn_1', attempt: 1 } };

  it('records the end when none is recorded or the recorded one is unknown', () => {
    given(draft, started, ...begun('opn_1'))
      .when(ends(accepted))
      .then(taken);
    given(draft, started, ...begun('opn_1'), unknown)
      .when(ends(accepted))
      .then(taken);
    given(draft, started, ...begun('opn_1'), taken)
      .when(ends(refused))
      .then();
  });

  for (const end of [accepted, refused]) {
    it(`records nothing on the send of another operation with the same attempt number: ${end.kind}`, () => {
      given(draft, started, ...begun('opn_1'), unknown, givenUp(first, 'person'), ...begun('opn_2'))
        .when(ends(end))
        .then();
    });
  }
});
