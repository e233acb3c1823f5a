/** The conditions for this process to accept requests. */
import type { Checks } from '../http/health-router.ts';
import type { Core } from './composition.ts';
import { MOST_COUNTED } from '../projector/lag.ts';
import type { Projector } from '../projector/projector.ts';

/** A read model further behind shows a past that callers would take for the present. */
const MOST_LAG_SECONDS = 30;

/** Named checks. Each resolves with public facts, or throws the problem. */
export const readinessChecks = ({ ports, storage }: Core, projector: Projector): Checks => ({
  database: async () => {
    await ports.sql.query('select 1');
    return {};
  },
  event_store: async () => {
    if (storage.events.trouble !== null) throw new Error(storage.events.trouble);
    await ports.events.headPosition();
    return {};
  },
  space: async () => {
    await storage.space.check();
    return {};
  },
  directory: async () => {
    if (!ports.directory.isCurrent) throw new Error('this process may lack a change of rights');
    return {};
  },
  projector: async () => {
    const { leader, lagEvents, lagSeconds } = projector.status();
    if (lagSeconds > MOST_LAG_SECONDS) throw new Error(behind(lagEvents, lagSeconds));
    return { leader };
  },
});

function behind(events: number, seconds: number): string {
  const age = `${seconds.toFixed(0)} s`;
  // No waiting event is known: the position could not be read for that long.
  if (events === 0) return `how far the read models are has not been known for ${age}`;
  const count = `${events >= MOST_COUNTED ? 'at least ' : ''}${String(events)}`;
  return `the read models are ${age} behind the log (${count} events wait)`;
}
