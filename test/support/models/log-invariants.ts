/**
 * Invariants of a log and its mailbox after any crash. Written from the rules (`contract.md` 10 and 14), not
 * from the deciders: they read only the events.
 */
import type { StoredEvent } from '../../../commands/values/event.ts';

export type Outcome = 'done' | 'failed' | 'unknown' | 'skipped';

/** One result as an event or an answer reports it. */
export interface ToldResult {
  readonly message_id: string;
  readonly outcome: Outcome;
  readonly action?: string | undefined;
  readonly new_message_id?: string | undefined;
  readonly error?: { readonly code: string } | undefined;
}

/** An answer a client received, in the order received. */
export interface ToldAnswer {
  readonly operationId: string;
  readonly results: readonly ToldResult[];
}

/** A message of one archive (or other relocation), and every place that contains it now. */
export interface WatchedMessage {
  readonly id: string;
  readonly source: string;
  readonly destination: string;
  readonly places: readonly string[];
}

export interface Witness {
  /** `$all` from its start, in the order it was read, without system events. */
  readonly events: readonly StoredEvent[];
  readonly messages: readonly WatchedMessage[];
  readonly answers: readonly ToldAnswer[];
  /** The same directly after the crash, before any lookup or repeat. */
  readonly atCrash?: Pick<Witness, 'events' | 'messages'>;
}

/** One sentence for each broken rule; empty when all hold. */
export function brokenInvariants({ events, messages, answers, atCrash }: Witness): readonly string[] {
  const operations = operationsOf(events);
  return [
    ...brokenOrder(events),
    ...[...operations].flatMap(([id, operation]) => brokenOperation(id, operation)),
    ...messages.flatMap((message) => brokenMessage(message, [...operations.values()])),
    ...withoutIntent({ events, messages }),
    ...brokenAnswers(answers, operations),
    ...(atCrash ? withoutIntent(atCrash) : []),
  ];
}

/** An intent written later would hide it. */
function withoutIntent({ events, messages }: Pick<Witness, 'events' | 'messages'>): readonly string[] {
  const intended = new Set([...operationsOf(events).values()].flatMap(({ targets }) => targets));
  return messages
    .filter(({ id, source, places }) => places.join() !== source && !intended.has(id))
    .map(({ id }) => `message ${id} was changed without an intent`);
}

/** One operation as its stream records it. */
interface Operation {
  readonly targets: readonly string[];
  readonly steps: number;
  readonly intents: number;
  readonly verdicts: number;
  readonly completions: number;
  readonly results: readonly ToldResult[];
  readonly changedVerdicts: readonly string[];
}

const NOTHING: Operation = {
  targets: [],
  steps: 0,
  intents: 0,
  verdicts: 0,
  completions: 0,
  results: [],
  changedVerdicts: [],
};

function operationsOf(events: readonly StoredEvent[]): ReadonlyMap<string, Operation> {
  const operations = new Map<string, Operation>();
  for (const event of events) {
    // The claims of other routes' keys are in streams of the same name.
    if (!event.streamName.startsWith('operation-') || event.type.startsWith('Request')) continue;
    const id = event.streamName.slice('operation-'.length);
    operations.set(id, fold(operations.get(id) ?? NOTHING, event));
  }
  return operations;
}

function fold(operation: Operation, { type, data }: StoredEvent): Operation {
  const results = (data['results'] ?? []) as readonly ToldResult[];
  switch (type) {
    case 'OperationSubmitted': {
      const targets = data['targets'] as readonly { message_id: string; stale: boolean }[];
      return { ...operation, targets: targets.map(({ message_id }) => message_id) };
    }
    case 'ActionsIntended': {
      const steps = (data['steps'] as readonly unknown[]).length;
      return { ...operation, steps, intents: operation.intents + 1 };
    }
    case 'ActionOutcomesRecorded':
      return { ...operation, results, verdicts: operation.verdicts + 1 };
    case 'ActionsReconciled':
      return { ...operation, results: settle(operation.results, results), ...changesOf(operation, results) };
    case 'OperationCompleted':
      return { ...operation, completions: operation.completions + 1 };
    default:
      return operation;
  }
}

const settle = (old: readonly ToldResult[], found: readonly ToldResult[]): readonly ToldResult[] =>
  old.map((result) => found.find(({ message_id }) => message_id === result.message_id) ?? result);

const changesOf = (
  operation: Operation,
  found: readonly ToldResult[],
): Pick<Operation, 'changedVerdicts'> => ({
  changedVerdicts: [
    ...operation.changedVerdicts,
    ...operation.results
      .filter((old) => old.outcome !== 'unknown' && found.some((now) => isOverruled(old, now)))
      .map(({ message_id }) => message_id),
  ],
});

const isOverruled = (old: ToldResult, now: ToldResult): boolean =>
  old.message_id === now.message_id && old.outcome !== now.outcome;

/** Positions strictly increasing, revisions from 0 without a gap, no event id twice. */
function brokenOrder(events: readonly StoredEvent[]): readonly string[] {
  const broken: string[] = [];
  const revisions = new Map<string, bigint>();
  const ids = new Set<string>();
  let position = -1n;
  for (const event of events) {
    const { streamName, revision, id } = event;
    const where = `${streamName}@${String(revision)}`;
    if (event.position <= position) broken.push(`$all goes back at ${where}`);
    position = event.position;
    const expected = (revisions.get(streamName) ?? -1n) + 1n;
    if (revision !== expected) broken.push(`${where} should be revision ${String(expected)}`);
    revisions.set(streamName, revision);
    if (ids.has(id)) broken.push(`the event ${id} is in the log twice`);
    ids.add(id);
  }
  return broken;
}

function brokenOperation(id: string, operation: Operation): readonly string[] {
  const { targets, steps, intents, verdicts, completions, results } = operation;
  const broken: string[] = operation.changedVerdicts.map(
    (messageId) => `operation ${id} overrules its own verdict on ${messageId}`,
  );
  if (intents !== 1) broken.push(`operation ${id} has ${String(intents)} intents`);
  if (verdicts > 1) broken.push(`operation ${id} has ${String(verdicts)} verdicts`);
  if (completions !== verdicts || completions === 0) broken.push(`operation ${id} is open`);
  if (verdicts > 0 && results.length !== targets.length * steps)
    broken.push(`operation ${id} does not tell the outcome of every intent`);
  return broken;
}

function brokenMessage(message: WatchedMessage, operations: readonly Operation[]): readonly string[] {
  const { id } = message;
  const about = operations.filter(({ targets }) => targets.includes(id));
  const results = about.flatMap((operation) =>
    operation.results.filter(({ message_id, action }) => message_id === id && action !== 'set_flags'),
  );
  return [...brokenCount(message, results), ...brokenVerdict(message, results)];
}

/** Exactly one; two after a crash of a move without MOVE, which copies first, with that answer. */
function brokenCount({ id, places }: WatchedMessage, results: readonly ToldResult[]): readonly string[] {
  if (places.length === 1) return [];
  if (places.length === 0) return [`message ${id} is lost`];
  if (places.length === 2 && results.some(saysOnlyCopied)) return [];
  return [`message ${id} is there ${String(places.length)} times`];
}

function brokenVerdict(
  { id, destination, places }: WatchedMessage,
  results: readonly ToldResult[],
): readonly string[] {
  const done = results.filter(({ outcome }) => outcome === 'done').length;
  const isMoved = places.length === 1 && places[0] === destination;
  if (done > 1) return [`message ${id} was done ${String(done)} times`];
  if (done === 1 && !isMoved) return [`message ${id} is told as done and is not in ${destination}`];
  const isTold = done === 1 || results.some(({ outcome }) => outcome === 'unknown');
  return isMoved && !isTold ? [`message ${id} was moved and nothing tells so`] : [];
}

const saysOnlyCopied = ({ outcome, error }: ToldResult): boolean =>
  outcome === 'failed' && error?.code === 'provider_rejected';

/** Every answer is in the log, and only `unknown` may change later. */
function brokenAnswers(
  answers: readonly ToldAnswer[],
  operations: ReadonlyMap<string, Operation>,
): readonly string[] {
  const broken: string[] = [];
  const told = new Map<string, ToldResult>();
  for (const { operationId, results } of answers) {
    const held = operations.get(operationId)?.results ?? [];
    for (const result of results) {
      const key = `${operationId}/${result.message_id}`;
      const before = told.get(key);
      if (before !== undefined && before.outcome !== 'unknown' && !isSame(before, result))
        broken.push(`operation ${operationId} tells ${result.message_id} differently on repeat`);
      told.set(key, result);
      const kept = held.find(({ message_id }) => message_id === result.message_id);
      if (kept === undefined) broken.push(`operation ${operationId} was acknowledged and is lost`);
      else if (result.outcome !== 'unknown' && !isSame(kept, result))
        broken.push(`operation ${operationId} was told otherwise than the log has it`);
    }
  }
  return broken;
}

const isSame = (a: ToldResult, b: ToldResult): boolean =>
  a.outcome === b.outcome && a.new_message_id === b.new_message_id && a.error?.code === b.error?.code;
