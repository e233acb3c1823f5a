/** The reservation of the first organisation, so that of two simultaneous bootstraps one wins. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { GatewayError } from '../values/errors.ts';

const BootstrapStarted = defineEvent({
  type: 'BootstrapStarted',
  summary: 'The set-up of the first organisation began, or was taken over from a process that died.',
  data: z.object({
    org_id: z.string(),
    user_id: z.string(),
    /** Null when a person set up the organisation in a browser, without an agent. */
    agent_id: z.string().nullable(),
    /** HMAC of the owner's address: only the same owner resumes. */
    owner_key: z.string(),
    run_id: z.string(),
  }),
  webhook: null,
});

const BootstrapFinished = defineEvent({
  type: 'BootstrapFinished',
  summary: 'An organisation already exists; bootstrap runs only once.',
  data: z.object({}),
  webhook: null,
});

export const bootstrapEvents = [BootstrapStarted, BootstrapFinished] as const;
type BootstrapEvent = (typeof bootstrapEvents)[number];
export type BootstrapTerms = z.output<typeof BootstrapStarted.data>;

interface BootstrapState {
  readonly started: BootstrapTerms | null;
  readonly finished: boolean;
}

export const bootstrap: Aggregate<BootstrapState, BootstrapEvent> = {
  category: 'bootstrap',
  catalogue: catalogueOf(bootstrapEvents),
  initial: { started: null, finished: false },
  evolve: (state, fact: PastFact<BootstrapEvent>) =>
    fact.type === 'BootstrapStarted' ? { ...state, started: fact.data } : { ...state, finished: true },
};

/** There is one stream, `bootstrap-first`. */
export const BOOTSTRAP_ID = 'first';

export const organisationExists = (): GatewayError =>
  new GatewayError('conflict', 'An organisation exists already; bootstrap only makes the first one.');

/**
 * Takes the reservation, or takes it over with the ids chosen first. The caller holds the lease, so the process
 * that began an unfinished one has failed or ended. Throws `conflict` when it is finished or another owner's.
 */
export function startBootstrap(
  state: BootstrapState,
  fresh: BootstrapTerms,
): readonly Fact<BootstrapEvent>[] {
  const { started, finished } = state;
  if (finished) throw organisationExists();
  if (started === null) return [{ type: 'BootstrapStarted', data: fresh }];
  if (started.owner_key !== fresh.owner_key) {
    throw new GatewayError(
      'conflict',
      'A bootstrap for another owner was interrupted; run it again with that address.',
    );
  }
  const agentId = started.agent_id ?? fresh.agent_id;
  return [{ type: 'BootstrapStarted', data: { ...started, agent_id: agentId, run_id: fresh.run_id } }];
}

export const bootstrapRunning = (): GatewayError =>
  new GatewayError(
    'conflict',
    'Another bootstrap is running, or died less than half a minute ago; try again later.',
  );

/** Throws `conflict` when another run took over or finished. */
export function finishBootstrap(state: BootstrapState, runId: string): readonly Fact<BootstrapEvent>[] {
  if (state.finished || state.started?.run_id !== runId) throw organisationExists();
  return [{ type: 'BootstrapFinished', data: {} }];
}
