import { expect } from 'chai';
import fc from 'fast-check';
import {
  discardDraft,
  editDraft,
  type NextVersion,
  startDraft,
} from '../../../../commands/drafts/decide-draft.ts';
import { draft, type DraftFact, type DraftState } from '../../../../commands/drafts/draft.ts';
import type { DraftStatus } from '../../../../commands/operations/draft-shape.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { given, stateAfter } from '../../../support/suite/decider-spec.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const sealed = 'sealed' as Sealed;
const version = (content_hash: string): NextVersion => ({
  envelope: sealed,
  content_id: `body of ${content_hash}`,
  content_hash,
  attachments: [],
});
const START = {
  mailbox_id: 'mbx_1',
  kind: 'new' as const,
  source_message_id: null,
  threading: null,
};
const started: DraftFact = {
  type: 'DraftStarted',
  data: { ...START, draft: { version: 1, ...version('a') } },
};
const edited = (number: number, hash: string): DraftFact => ({
  type: 'DraftEdited',
  data: { draft: { version: number, ...version(hash) } },
});
const discarded: DraftFact = { type: 'DraftDiscarded', data: { reason: 'caller' } };
const sample = (type: DraftFact['type']): DraftFact => ({ type, data: SAMPLE_EVENTS[type] }) as DraftFact;
const frozen = sample('DraftFrozen');
const sending = sample('SendStarted');
const postponed = sample('SendPostponed');

describe('draft decider', () => {
  it('starts a draft once', () => {
    given(draft)
      .when((state) => startDraft(state, START, version('a')))
      .then(started);
    given(draft, started)
      .when((state) => startDraft(state, START, version('a')))
      .then();
  });

  it('counts versions, and takes a repeated change as one', () => {
    given(draft, started)
      .when((state) => editDraft(state, version('b'), { version: 1 }))
      .then(edited(2, 'b'));
    given(draft, started, edited(2, 'b'))
      .when((state) => editDraft(state, version('c'), null))
      .then(edited(3, 'c'));
    given(draft, started, edited(2, 'b'))
      .when((state) => editDraft(state, version('b'), { version: 1 }))
      .then();
    const refused = given(draft, started, edited(2, 'b'))
      .when((state) => editDraft(state, version('c'), { version: 1 }))
      .thenRefused('version_conflict');
    expect(refused.details).to.deep.equal({ version: 2, revision: 1 });
    given(draft)
      .when((state) => editDraft(state, version('b'), null))
      .thenRefused('not_found');
  });

  it(`changes the revision on review, so that an older If-Match is refused ${verifies('contract:7:draft-etag')}`, () => {
    const inReview = given(draft, started, frozen);
    const { details } = inReview
      .when((state) => editDraft(state, version('b'), { version: 1, revision: 0 }))
      .thenRefused('version_conflict');
    expect(details).to.deep.equal({ version: 1, revision: 1 });
    inReview
      .when((state) => discardDraft(state, 'caller', { version: 1, revision: 0 }))
      .thenRefused('version_conflict');
    inReview
      .when((state) => editDraft(state, version('b'), { version: 1, revision: 1 }))
      .then(edited(2, 'b'));
  });

  it(`reopens the draft when it is edited in review or after a failed send ${verifies('contract:10:draft-edit')}`, () => {
    expect(stateAfter(draft, [started, frozen]).status).to.equal('in_review');
    expect(stateAfter(draft, [started, frozen, edited(2, 'b')])).to.include({ status: 'open', send: null });
    given(draft, started, frozen)
      .when((state) => editDraft(state, version('b'), { version: 1 }))
      .then(edited(2, 'b'));
    const failed = [started, frozen, sending, sample('DraftSendFailed')];
    given(draft, ...failed)
      .when((state) => editDraft(state, version('b'), { version: 1 }))
      .then(edited(2, 'b'));
  });

  it(`is locked while the draft is being sent and after it ended ${verifies('contract:10:draft-locked')}`, () => {
    const over: DraftFact[][] = [
      [frozen, sending],
      [frozen, sending, sample('DraftSent')],
      [frozen, sending, sample('DraftSendUnknown')],
    ];
    for (const facts of over) {
      given(draft, started, ...facts)
        .when((state) => editDraft(state, version('b'), null))
        .thenRefused('draft_locked');
      given(draft, started, ...facts)
        .when((state) => discardDraft(state, 'caller', null))
        .thenRefused('draft_locked');
    }
    given(draft, started, discarded)
      .when((state) => editDraft(state, version('b'), null))
      .thenRefused('draft_locked');
  });

  it('discards an unsent draft permanently, even while it waits for its next attempt', () => {
    given(draft, started)
      .when((state) => discardDraft(state, 'caller', { version: 1 }))
      .then(discarded);
    given(draft, started)
      .when((state) => discardDraft(state, 'caller', { version: 2 }))
      .thenRefused('version_conflict');
    given(draft, started, frozen, sending, postponed)
      .when((state) => discardDraft(state, 'caller', null))
      .then(discarded);
    given(draft, started, discarded)
      .when((state) => discardDraft(state, 'caller', null))
      .then();
    given(draft, started)
      .when((state) => discardDraft(state, 'mailbox_removed', null))
      .then({ type: 'DraftDiscarded', data: { reason: 'mailbox_removed' } });
  });

  it('follows the state table under random commands', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...COMMANDS), { maxLength: 30 }), (commands) => {
        let model: Model = { status: 'open', version: 1, waits: false };
        let facts: readonly DraftFact[] = [started];
        for (const command of commands) {
          const state = stateAfter(draft, facts);
          const next = STEPS[command](model);
          const added = attempt(command, state);
          if (next === 'locked') expect(added, `${command} when ${model.status}`).to.equal('draft_locked');
          else if (next === null)
            expect(added === 'not offered' || added === 'nothing', command).to.equal(true);
          else {
            if (typeof added === 'string') throw new Error(`${command} when ${model.status}: ${added}`);
            facts = [...facts, ...added];
            model = next;
          }
          const { status, current } = stateAfter(draft, facts);
          expect({ status, version: current?.version }).to.deep.equal({
            status: model.status,
            version: model.version,
          });
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** The table of `contract.md` 10, written a second time. */
interface Model {
  readonly status: DraftStatus;
  readonly version: number;
  /** A send that certainly sent nothing waits for its next attempt. */
  readonly waits: boolean;
}

const COMMANDS = ['edit', 'discard', 'freeze', 'send', 'postpone', 'succeed', 'fail', 'lose'] as const;
type Command = (typeof COMMANDS)[number];

const from =
  (states: readonly DraftStatus[], to: DraftStatus, waits = false) =>
  (model: Model): Model | null =>
    states.includes(model.status) ? { ...model, status: to, waits } : null;

const STEPS: Readonly<Record<Command, (model: Model) => Model | 'locked' | null>> = {
  edit: (model) =>
    ['open', 'in_review', 'send_failed'].includes(model.status)
      ? { status: 'open', version: model.version + 1, waits: false }
      : 'locked',
  discard: (model) => {
    if (model.status === 'discarded') return null;
    const unsent = ['open', 'in_review', 'send_failed'].includes(model.status) || model.waits;
    return unsent ? { ...model, status: 'discarded', waits: false } : 'locked';
  },
  freeze: from(['open', 'send_failed'], 'in_review'),
  send: (model) => (model.waits ? { ...model, waits: false } : from(['in_review'], 'sending')(model)),
  postpone: (model) => (model.waits ? null : from(['sending'], 'sending', true)(model)),
  succeed: (model) => (model.waits ? null : from(['sending', 'send_unknown'], 'sent')(model)),
  fail: (model) => (model.waits ? null : from(['sending', 'send_unknown'], 'send_failed')(model)),
  lose: (model) => (model.waits ? null : from(['sending'], 'send_unknown')(model)),
};

/** Facts that sending records, when the state allows it. */
const SENDS: Partial<Record<Command, (state: DraftState) => DraftFact | null>> = {
  freeze: ({ status }) => (status === 'open' || status === 'send_failed' ? frozen : null),
  send: ({ status, send }) =>
    status === 'in_review' || (status === 'sending' && send?.retryAt != null) ? sending : null,
  postpone: (state) => (isRunning(state) && state.status === 'sending' ? postponed : null),
  succeed: (state) => (isRunning(state) ? sample('DraftSent') : null),
  fail: (state) => (isRunning(state) ? sample('DraftSendFailed') : null),
  lose: (state) => (isRunning(state) && state.status === 'sending' ? sample('DraftSendUnknown') : null),
};

const isRunning = ({ status, send }: DraftState): boolean =>
  (status === 'sending' && send?.retryAt == null) || status === 'send_unknown';

let edits = 0;

function attempt(command: Command, state: DraftState): readonly DraftFact[] | string {
  const writes = SENDS[command];
  if (writes) {
    const fact = writes(state);
    return fact === null ? 'not offered' : [fact];
  }
  edits += 1;
  try {
    const facts =
      command === 'edit'
        ? editDraft(state, version(`edit ${String(edits)}`), null)
        : discardDraft(state, 'caller', null);
    return facts.length === 0 ? 'nothing' : facts;
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}
