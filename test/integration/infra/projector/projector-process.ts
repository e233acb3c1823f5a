/** A process of its own that keeps the read models until it is killed; says `leading` when it leads. */
import { openEventStore } from '../../../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { startProjector } from '../../../../infra/projector/projector.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { audit } from '../../../../projections/audit.ts';
import { directory } from '../../../../projections/directory-projection.ts';
import { operations } from '../../../../projections/operations.ts';
import { openSample } from '../../../support/samples/event-author.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { counting } from './projector-rig.ts';

const [databaseUrl = '', eventStoreUrl = ''] = process.argv.slice(2);
const projector = await startProjector({
  sql: postgresSql(openPool({ url: databaseUrl, log: silentLog, size: 4 })),
  events: openEventStore({ url: eventStoreUrl, log: silentLog }),
  personal: { open: openSample },
  clock: systemClock,
  log: silentLog,
  projections: [directory, operations, audit, counting],
  directConnection: () => openDirectConnection(databaseUrl, 'projector in a process'),
});
// A follower waits for its turn; whoever started it ends it.
await eventually(() => projector.status().leader, 600_000);
process.stdout.write('leading\n');
