/**
 * Invariants of an approval after any crash. Written from the rules (`contract.md` 9, 10 and 14), not from
 * the deciders: they read only the events.
 */
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { OperationReply } from '../../../commands/operations/operation.ts';
import { brokenApprovalRules, type Deciders, statusInStream } from './approval-invariants.ts';

/** An answered request; a decision is reported without its payload. */
export interface ToldStep {
  readonly step: 'ask' | 'decide' | 'commit';
  readonly reply: OperationReply | null;
}

export interface ApprovalWitness {
  readonly action: 'archive' | 'expunge';
  /** Before the crash. */
  readonly told: readonly ToldStep[];
  /** After everything has settled: the same three requests, twice. */
  readonly repeats: readonly (readonly ToldStep[])[];
  /** Events of the operation. */
  readonly events: readonly StoredEvent[];
  /** Folders that contain the message. */
  readonly places: readonly string[];
  /** Directly after the crash, before any lookup or repeat. */
  readonly atCrash: Pick<ApprovalWitness, 'events' | 'places'>;
}

/** One sentence for each broken rule; empty when all hold. */
export function brokenCrashRules(witness: ApprovalWitness, deciders: Deciders): readonly string[] {
  const { action, told, repeats, events, places, atCrash } = witness;
  const typesAtCrash = atCrash.events.map(({ type }) => type);
  const wanted = action === 'archive' ? 'Archive' : '';
  const isChanged = atCrash.places.join() !== 'INBOX';
  const [repeat, last] = repeats.map((steps) => JSON.stringify(steps));
  const rules: readonly (readonly [sentence: string, isBroken: boolean])[] = [
    [
      'the message was changed before anybody meant to',
      isChanged && !typesAtCrash.includes('ActionsIntended'),
    ],
    [
      'the message was changed before it was approved',
      isChanged && !typesAtCrash.includes('ApprovalGranted'),
    ],
    [
      'a request that was answered is lost',
      isTold(told, 'ask') && !typesAtCrash.includes('ApprovalRequested'),
    ],
    [
      'a decision that was answered is lost',
      isTold(told, 'decide') && !typesAtCrash.includes('ApprovalVoteCast'),
    ],
    [
      'a commit that was answered is lost',
      isTold(told, 'commit') && statusInStream(atCrash.events) !== 'committed',
    ],
    ['it does not come to its end', statusInStream(events) !== 'committed'],
    [`the message lies in "${places.join()}"`, places.join() !== wanted],
    [
      'what was approved is not what was approved before',
      new Set(hashesIn([...told, ...repeats.flat()])).size !== 1,
    ],
    ['two repeats are told differently', repeat !== last],
    ['an effect is told twice', effectsIn(events) !== 1],
  ];
  return [
    ...brokenApprovalRules(events, deciders),
    ...rules.flatMap(([sentence, isBroken]) => (isBroken ? [sentence] : [])),
  ];
}

const isTold = (told: readonly ToldStep[], wanted: ToldStep['step']): boolean =>
  told.some(({ step }) => step === wanted);

const hashesIn = (steps: readonly ToldStep[]): readonly string[] =>
  steps.flatMap(({ reply }) => reply?.approval?.content_hash ?? []);

/** Outcomes with the value "done". */
const effectsIn = (events: readonly StoredEvent[]): number =>
  events
    .filter(({ type }) => type === 'ActionOutcomesRecorded' || type === 'ActionsReconciled')
    .flatMap(({ data }) => data['results'] as readonly { readonly outcome: string }[])
    .filter(({ outcome }) => outcome === 'done').length;
