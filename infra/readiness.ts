/** What must answer before this process takes requests. */
import type { Checks } from './http/health-router.ts';
import type { Core } from './open-core.ts';
import type { Projector } from './projector/projector.ts';

/** A read model this far behind shows a past that callers would take for the present. */
const MOST_LAG_SECONDS = 30;

/** Named checks; each resolves with facts or throws with what is wrong. */
export const readinessChecks = ({ ports }: Core, projector: Projector): Checks => ({
  database: async () => {
    await ports.sql.query('select 1');
    return {};
  },
  event_store: async () => ({ head: String(await ports.events.headPosition()) }),
  directory: async () => {
    if (!ports.directory.isCurrent) throw new Error('this process may lack a change of rights');
    return {};
  },
  projector: async () => {
    const { leader, lagEvents, lagSeconds } = projector.status();
    if (lagSeconds > MOST_LAG_SECONDS) throw new Error(`the read models are ${String(lagSeconds)} s behind`);
    return { leader, lag_events: lagEvents, lag_seconds: lagSeconds };
  },
});
