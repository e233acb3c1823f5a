/** Given past facts, when a decision is taken, then these are the new facts – or it is refused. */
import { expect } from 'chai';
import type { Aggregate, Author } from '../../../commands/kernel/decide-and-append.ts';
import { foldFacts } from '../../../commands/kernel/decide-and-append.ts';
import type { EventDefinition, Fact } from '../../../commands/values/event.ts';
import { GatewayError } from '../../../commands/values/errors.ts';

export const AUTHOR: Author = {
  orgId: 'org_1',
  actor: { type: 'delegated', id: 'usr_1', token_id: 'tok_1', session_id: null },
  surface: 'rest',
  requestId: 'req_1',
  correlationId: 'req_1',
  causationId: 'req_1',
};
export const NOW = new Date('2026-03-01T12:00:00.000Z');

/** The state of an aggregate whose stream contains these facts. */
export const stateAfter = <State, D extends EventDefinition>(
  aggregate: Aggregate<State, D>,
  past: readonly Fact<D>[],
): State => foldFacts(aggregate, aggregate.initial, past, { author: AUTHOR, at: NOW });

export function given<State, D extends EventDefinition>(
  aggregate: Aggregate<State, D>,
  ...past: readonly Fact<D>[]
) {
  const state = stateAfter(aggregate, past);
  return {
    when(decide: (state: State) => readonly Fact<D>[]) {
      return {
        then: (...facts: readonly Fact<D>[]): void => {
          expect(decide(state)).to.deep.equal(facts);
        },
        thenRefused: (code: string): GatewayError => {
          try {
            decide(state);
          } catch (error) {
            expect(error).to.be.instanceOf(GatewayError);
            expect((error as GatewayError).code).to.equal(code);
            return error as GatewayError;
          }
          throw new Error(`not refused with ${code}`);
        },
      };
    },
  };
}
