/** Random steps on approvals: mostly those that lead on, and occasionally those that must be refused. */
import fc from 'fast-check';
import type { Ballot } from './approval-model.ts';
import {
  type Course,
  type Kind,
  type Mode,
  MODES,
  POLICIES,
  type PolicyName,
} from './approval-terms-model.ts';
import { AGENT, type CallerId, PEOPLE, type PersonId } from '../worlds/approval-world.ts';

/** Each step by its name, with its arguments; `at` counts the approvals back from the newest. */
export interface Steps {
  readonly ask: { readonly kind: Kind; readonly mode: Mode; readonly isNamed: boolean };
  readonly vote: { readonly at: number; readonly course: Course } & Ballot;
  readonly commit: {
    readonly at: number;
    readonly course: Course;
    readonly by: CallerId;
    readonly hash: 'right' | 'wrong' | 'none';
  };
  readonly cancel: { readonly at: number; readonly by: CallerId };
  readonly wait: {
    readonly at: number;
    readonly until: 'soon' | 'just_before' | 'deadline' | 'due' | 'day';
  };
  readonly policy: { readonly policy: PolicyName };
  /** The gateway processes every approval automatically. */
  readonly pass: { readonly course: Course };
  readonly grant: { readonly grant: 'whole' | 'narrow' | 'none' };
  readonly remove_mailbox: object;
  /** By another user with another mail program. */
  readonly take_away: { readonly at: number };
  readonly draft: { readonly at: number; readonly change: 'edit' | 'discard' | 'send' };
  readonly resolve: { readonly at: number; readonly word: 'done' | 'not_done' };
}
export type StepOf<Do extends keyof Steps> = { readonly do: Do } & Steps[Do];
export type Step = { [Do in keyof Steps]: StepOf<Do> }[keyof Steps];

type Wait = Steps['wait']['until'];

const people = fc.constantFrom(...(Object.keys(PEOPLE) as PersonId[]));
const voters = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<PersonId>('usr_adam', 'usr_anna', 'usr_bert') },
  { weight: 1, arbitrary: people },
);
/** Mostly the step that leads on. */
const often = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
/** Mostly the newest approval. */
const at = often(0, 1, 2);
const does = <Word extends string>(word: Word) => fc.constant(word);

/** How the next command to the mail server ends. */
const course = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Course>('fine') },
  { weight: 2, arbitrary: fc.constantFrom<Course>('away', 'never', 'lost_undone', 'lost_done') },
);

const ask = fc.record({
  do: does('ask'),
  kind: fc.constantFrom<Kind>('archive', 'expunge', 'send'),
  mode: fc.constantFrom(...MODES),
  isNamed: often(true, false),
});
const vote = fc.record({
  do: does('vote'),
  at,
  course,
  by: voters,
  decision: often<'approve' | 'reject'>('approve', 'reject'),
  isRightHash: often(true, false),
  hasReason: fc.boolean(),
});
const commit = fc.record({
  do: does('commit'),
  at,
  course,
  by: often<CallerId>(AGENT, 'usr_olga', 'usr_bert', 'usr_mia'),
  hash: often<'right' | 'wrong' | 'none'>('right', 'wrong', 'none'),
});
const ground = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: does('take_away'), at }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: does('draft'),
      at,
      change: fc.constantFrom<'edit' | 'discard' | 'send'>('edit', 'discard', 'send'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: does('grant'),
      grant: fc.constantFrom<'whole' | 'narrow' | 'none'>('whole', 'narrow', 'none'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: does('remove_mailbox') }) },
);
const policy = fc.record({
  do: does('policy'),
  policy: fc.constantFrom(...(Object.keys(POLICIES) as PolicyName[])),
});
const wait = fc.record({
  do: does('wait'),
  at,
  until: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Wait>('soon', 'due') },
    { weight: 1, arbitrary: fc.constantFrom<Wait>('just_before', 'deadline', 'day') },
  ),
});
const word = fc.constantFrom<'done' | 'not_done'>('done', 'not_done');

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: ask },
  { weight: 9, arbitrary: vote },
  { weight: 7, arbitrary: commit },
  { weight: 3, arbitrary: wait },
  { weight: 3, arbitrary: fc.record({ do: does('pass'), course }) },
  { weight: 2, arbitrary: ground },
  {
    weight: 1,
    arbitrary: fc.record({ do: does('cancel'), at, by: fc.oneof(fc.constant<CallerId>(AGENT), people) }),
  },
  { weight: 1, arbitrary: policy },
  { weight: 1, arbitrary: fc.record({ do: does('resolve'), at, word }) },
);

/** A policy, a request under it, and any further steps. */
export const histories: fc.Arbitrary<readonly Step[]> = fc
  .tuple(policy, ask, fc.array(steps, { minLength: 4, maxLength: 22 }))
  .map(([first, second, rest]) => [first, second, ...rest]);
