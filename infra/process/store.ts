/** `npm run store`: Postgres and an event store for any EventStoreDB client, and nothing else. The same as ROLES=embedded. */
import { runProcess } from './run-process.ts';

await runProcess({ ...process.env, ROLES: 'embedded' });
