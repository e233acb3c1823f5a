/** Decides about a check at a moment, and writes that moment down: what is counted from it is exact to the millisecond. */
import {
  type Author,
  type Decided,
  decideAndAppend,
  type Loaded,
  type Writer,
} from '../kernel/decide-and-append.ts';
import { operation, type OperationFact, type OperationState } from './operation.ts';

export interface Decision {
  readonly operationId: string;
  /** The check as it was read a moment ago, where it was. */
  readonly loaded?: Loaded<OperationState>;
  readonly decide: (state: OperationState, now: Date) => readonly OperationFact[];
}

/** As `decideAndAppend`. */
export async function decideNow(
  { events, ids, clock }: Writer,
  author: Author,
  { operationId, loaded, decide }: Decision,
): Promise<Decided<OperationState>> {
  const moment = { now: clock.now() };
  const writer = { events, ids, clock: { now: () => moment.now } };
  return await decideAndAppend(writer, author, operation, {
    id: operationId,
    ...(loaded === undefined ? {} : { loaded }),
    decide: (state) => {
      moment.now = clock.now();
      return decide(state, moment.now);
    },
  });
}
