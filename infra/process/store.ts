/**
 * `npm run store`: only Postgres and an event store for any EventStoreDB client. The same as ROLES=embedded.
 */
import { runProcess } from './run-process.ts';

await runProcess({ ...process.env, ROLES: 'embedded' });
