import { expect } from 'chai';
import type { StoredEvent } from '../../../commands/values/event.ts';
import {
  brokenInvariants,
  type ToldResult,
  type WatchedMessage,
} from '../../support/models/log-invariants.ts';

const DONE: ToldResult = { message_id: 'msg_1', outcome: 'done', new_message_id: 'msg_9' };
const FAILED: ToldResult = { message_id: 'msg_1', outcome: 'failed', error: { code: 'mailbox_unavailable' } };
const COPIED: ToldResult = { message_id: 'msg_1', outcome: 'failed', error: { code: 'provider_rejected' } };
const UNKNOWN: ToldResult = { message_id: 'msg_1', outcome: 'unknown' };

type Draft = readonly [type: string, data: Record<string, unknown>];

/** A log of one stream per list, in that order. */
function logOf(streams: Readonly<Record<string, readonly Draft[]>>): StoredEvent[] {
  const all = Object.entries(streams).flatMap(([streamName, drafts]) =>
    drafts.map(([type, data], revision) => ({ streamName, type, data, revision: BigInt(revision) })),
  );
  return all.map((event, index) => ({
    ...event,
    id: `event-${String(index)}`,
    position: BigInt(index * 100),
    metadata: {},
    storedAt: new Date(0),
  }));
}

const intent: readonly Draft[] = [
  ['OperationSubmitted', { targets: [{ message_id: 'msg_1', stale: false }] }],
  ['OperationDecided', {}],
  ['ActionsIntended', { steps: [{ action: 'archive' }] }],
];
const outcome = (...results: readonly ToldResult[]): readonly Draft[] => [
  ['ActionOutcomesRecorded', { results }],
  ['OperationCompleted', {}],
];
const message = (...places: readonly string[]): WatchedMessage => ({
  id: 'msg_1',
  source: 'INBOX',
  destination: 'Archive',
  places,
});
const archived = logOf({ 'operation-1': [...intent, ...outcome(DONE)] });
const answer = (...results: readonly ToldResult[]) => ({ operationId: '1', results });

/** The log with one event changed. */
const withChange = (index: number, change: Partial<StoredEvent>): StoredEvent[] =>
  archived.map((event, at) => (at === index ? { ...event, ...change } : event));

describe('brokenInvariants', () => {
  const broken = (
    events: readonly StoredEvent[],
    messages: readonly WatchedMessage[] = [],
    answers: readonly ReturnType<typeof answer>[] = [],
  ): readonly string[] => brokenInvariants({ events, messages, answers });

  it('accepts an archive that was done, repeated and answered the same', () => {
    expect(broken(archived, [message('Archive')], [answer(DONE), answer(DONE)])).to.deep.equal([]);
  });

  it('accepts an operation that was unknown first, and one that never started', () => {
    const settled = logOf({
      'operation-1': [...intent, ...outcome(UNKNOWN), ['ActionsReconciled', { results: [DONE] }]],
    });
    expect(broken(settled, [message('Archive')], [answer(UNKNOWN), answer(DONE)])).to.deep.equal([]);
    expect(broken([], [message('INBOX')])).to.deep.equal([]);
  });

  const cases: readonly (readonly [title: string, found: () => readonly string[], sentence: string])[] = [
    ['an effect without an intent', () => broken([], [message('Archive')]), 'changed without an intent'],
    [
      'an effect whose intent came after the crash',
      () =>
        brokenInvariants({
          events: archived,
          messages: [message('Archive')],
          answers: [],
          atCrash: { events: [], messages: [message('Archive')] },
        }),
      'changed without an intent',
    ],
    ['an intent without an outcome', () => broken(logOf({ 'operation-1': intent })), 'operation 1 is open'],
    [
      'an intent whose outcome is not recorded',
      () => broken(logOf({ 'operation-1': [...intent, ...outcome()] })),
      'outcome of every intent',
    ],
    [
      'a second intent in one operation',
      () => broken(logOf({ 'operation-1': [...intent, ...intent, ...outcome(DONE)] })),
      'has 2 intents',
    ],
    [
      'a second verdict',
      () => broken(logOf({ 'operation-1': [...intent, ...outcome(DONE), ...outcome(FAILED)] })),
      'has 2 verdicts',
    ],
    [
      'a verdict that is overruled',
      () =>
        broken(
          logOf({
            'operation-1': [...intent, ...outcome(DONE), ['ActionsReconciled', { results: [FAILED] }]],
          }),
        ),
      'overrules its own verdict',
    ],
    ['a lost message', () => broken(archived, [message()]), 'is lost'],
    ['a doubled message', () => broken(archived, [message('INBOX', 'Archive')]), 'is there 2 times'],
    [
      'a message twice in one folder',
      () => broken(archived, [message('Archive', 'Archive')]),
      'is there 2 times',
    ],
    ['done, yet still at its source', () => broken(archived, [message('INBOX')]), 'not in Archive'],
    [
      'moved, yet told as failed',
      () => broken(logOf({ 'operation-1': [...intent, ...outcome(FAILED)] }), [message('Archive')]),
      'nothing tells so',
    ],
    [
      'the same message done by two operations',
      () =>
        broken(
          logOf({
            'operation-1': [...intent, ...outcome(DONE)],
            'operation-2': [...intent, ...outcome(DONE)],
          }),
          [message('Archive')],
        ),
      'done 2 times',
    ],
    [
      'an acknowledged operation that is lost',
      () => broken([], [], [answer(DONE)]),
      'acknowledged and is lost',
    ],
    [
      'a repeat with another answer',
      () => broken(archived, [], [answer(DONE), answer({ ...DONE, new_message_id: 'msg_8' })]),
      'differently on repeat',
    ],
    [
      'an answer that is not in the log',
      () => broken(archived, [], [answer(FAILED)]),
      'told otherwise than the log',
    ],
    ['a gap in a stream', () => broken(withChange(4, { revision: 5n })), 'should be revision 4'],
    ['a revision twice', () => broken(withChange(4, { revision: 3n })), 'should be revision 4'],
    ['positions out of order', () => broken(withChange(4, { position: 100n })), '$all goes back'],
    ['an event twice', () => broken(withChange(4, { id: 'event-3' })), 'in the log twice'],
  ];
  for (const [title, found, sentence] of cases) {
    it(`reports ${title}`, () => {
      expect(found().join('\n')).to.contain(sentence);
    });
  }

  it('accepts both copies only when the answer says that only the copy was made', () => {
    const both = [message('INBOX', 'Archive')];
    const told = (result: ToldResult) => logOf({ 'operation-1': [...intent, ...outcome(result)] });
    expect(broken(told(COPIED), both)).to.deep.equal([]);
    expect(broken(told(FAILED), both).join()).to.contain('is there 2 times');
  });
});
