/**
 * Invariants of a send after any crash. Written from the rules (`contract.md` 7, 10 and 14), not from the
 * deciders: they read only the events.
 */
import type { StoredEvent } from '../../../commands/values/event.ts';

/** An answer: `completed`, or the code of the error. */
export interface ToldSend {
  readonly code: string;
}

export interface SendWitness {
  /** The operation's stream and the draft's. */
  readonly events: readonly StoredEvent[];
  /** Messages of the draft that the submission server accepted. */
  readonly accepted: number;
  /** Copies in the Sent folder. */
  readonly copies: number;
  /** In the order received; the last ones after everything was settled. */
  readonly told: readonly ToldSend[];
  readonly atCrash: Pick<SendWitness, 'events' | 'accepted'>;
}

const OUTCOMES: ReadonlySet<string> = new Set(['DraftSent', 'DraftSendFailed', 'DraftSendUnknown']);
const FINAL: ReadonlySet<string> = new Set(['completed', 'provider_rejected', 'outcome_unknown']);

/** One sentence for each broken rule; empty when all hold. */
export function brokenSendRules(witness: SendWitness): readonly string[] {
  const { events, accepted, copies, told, atCrash } = witness;
  const types = events.map(({ type }) => type);
  const [lastTold = null] = told.slice(-1).map(({ code }) => code);
  const has = (type: string): boolean => types.includes(type);
  const rules: readonly Rule[] = [
    ['a message was accepted twice', accepted > 1],
    ['a message went out before its intent', atCrash.accepted > 0 && !fenced(atCrash.events)],
    ...brokenEnds(types),
    ['a sent message is called unsent', accepted > 0 && has('DraftSendFailed')],
    ['an unsent message is called sent', accepted === 0 && has('DraftSent')],
    ['a message that nobody took was given up', accepted === 0 && !has('DraftSendUnknown')],
    ['there are several copies in Sent', copies > 1],
    ['a sent message has no copy in Sent', has('DraftSent') && copies !== 1],
    ['a copy in Sent is of nothing that was sent', copies > 0 && accepted === 0],
    ['there are several outcomes', count(types, 'DraftSent') > 1 || count(types, 'SendOutcomeRecorded') > 1],
    ['the client was told otherwise later', isToldTwice(told)],
    ['the repeat does not give the final answer', told.slice(-2).some(({ code }) => !FINAL.has(code))],
    ['the client is told of a mail that is not sent', lastTold === 'completed' && accepted === 0],
  ];
  return rules.flatMap(([sentence, isBroken]) => (isBroken ? [sentence] : []));
}

type Rule = readonly [sentence: string, isBroken: boolean];

/** Every request ends, in both streams. */
function brokenEnds(types: readonly string[]): readonly Rule[] {
  const isIntended = types.includes('SendIntended');
  const hasOutcome = types.some((type) => OUTCOMES.has(type));
  return [
    ['a send that was asked for has no outcome', isIntended && !hasOutcome],
    ['the operation does not know its outcome', isIntended && !types.includes('SendOutcomeRecorded')],
    ['an intent came before the operation', types.includes('SendStarted') && !isIntended],
  ];
}

/** The same for a copy of a message sent before: one is in Sent, and the log reports it once. */
export function brokenCopyRules({ events, copies }: SendWitness): readonly string[] {
  const filed = events.filter(({ type }) => type === 'SentCopyFiled').length;
  return [
    ...(copies === 1 ? [] : [`${String(copies)} copies lie in Sent`]),
    ...(filed === 1 ? [] : [`${String(filed)} copies are told of`]),
  ];
}

const fenced = (events: readonly StoredEvent[]): boolean =>
  events.some(({ type }) => type === 'SendDataBegun');

const count = (types: readonly string[], wanted: string): number =>
  types.filter((type) => type === wanted).length;

/** Only an unknown outcome may change afterwards. */
function isToldTwice(told: readonly ToldSend[]): boolean {
  const final = told.map(({ code }) => code).filter((code) => FINAL.has(code) && code !== 'outcome_unknown');
  return new Set(final).size > 1;
}
