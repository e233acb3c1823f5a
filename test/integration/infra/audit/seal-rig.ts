/** A log in memory, its read models in Postgres, and a sealer over them. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { eventCatalogue } from '../../../../commands/event-catalogue.ts';
import { envelope } from '../../../../commands/kernel/decide-and-append.ts';
import type { NewEvent, StoredEvent } from '../../../../commands/values/event.ts';
import type { FileAnchors } from '../../../../infra/audit/file-anchors.ts';
import type { SealFile } from '../../../../infra/audit/seal-file.ts';
import { Sealer, type SealPorts, type SealSettings } from '../../../../infra/audit/sealer.ts';
import { TrailVerifier } from '../../../../infra/audit/trail-verifier.ts';
import type { Projector } from '../../../../infra/projector/projector.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { randomIds, sampleAuthor } from '../../../support/samples/event-author.ts';
import { memoryLeases } from '../../../support/worlds/memory-gateway.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

export const ORG = 'org_a';
export const LINES = 'read.audit_v3';

const renamed = eventCatalogue.get('OrganisationRenamed');
if (!renamed) throw new Error('no OrganisationRenamed');
const RENAMED = renamed;

export class SealRig implements AsyncDisposable {
  readonly rig: Rig;
  readonly clock = new ManualClock();
  readonly masterKey = createSecretKey(randomBytes(32));
  readonly leases = memoryLeases('run_1');
  anchors: FileAnchors | null = null;
  file: SealFile | null = null;
  readonly #projector: Projector;

  private constructor(rig: Rig, projector: Projector) {
    this.rig = rig;
    this.#projector = projector;
  }

  static async open(): Promise<SealRig> {
    const rig = await openRig();
    return new SealRig(rig, await rig.start());
  }

  get ports(): SealPorts {
    const { sql, events } = this.rig;
    return { sql, events, ids: randomIds, clock: this.clock, leases: this.leases, log: silentLog };
  }

  sealer(changes: Partial<SealPorts> = {}, settings: Partial<SealSettings> = {}): Sealer {
    return new Sealer(
      { ...this.ports, ...changes },
      {
        masterKey: this.masterKey,
        auditName: 'gateway.example/audit',
        everyMs: 60_000,
        anchors: this.anchors,
        file: this.file,
        ...settings,
      },
    );
  }

  async verify(): Promise<boolean> {
    const verifier = new TrailVerifier(this.ports, this.sealer());
    return await verifier.verify(new AbortController().signal);
  }

  async happens(count: number, orgId = ORG): Promise<void> {
    const { events } = this.rig;
    const stream = `organisation-${orgId}`;
    const last = await events.readLast(stream);
    const written = Array.from({ length: count }, (): NewEvent => ({
      id: randomIds.newUuid(),
      type: 'OrganisationRenamed',
      data: { name: 'B' },
      metadata: { ...envelope(sampleAuthor(orgId), RENAMED, new Date()), salt: randomIds.newSalt() },
    }));
    await events.append(stream, last?.revision ?? 'no-stream', written);
    await this.settle();
  }

  async settle(): Promise<void> {
    await this.rig.settle(this.#projector);
  }

  /** Rounds until a minute has passed for every line. */
  async seal(): Promise<void> {
    await this.settle();
    await this.sealer().round();
    this.clock.advance(60_000);
    await this.sealer().round();
    await this.settle();
  }

  async sizes(trail = ORG): Promise<readonly number[]> {
    const rows = await this.rig.sql.query<{ size: number }>(
      'select size::int from vault.audit_signed where trail = $1 and released_at is not null order by epoch, size',
      [trail],
    );
    return rows.map(({ size }) => size);
  }

  async notes(trail = ORG): Promise<readonly string[]> {
    const rows = await this.rig.sql.query<{ note: string }>(
      'select note from vault.audit_signed where trail = $1 order by epoch, size',
      [trail],
    );
    return rows.map(({ note }) => note);
  }

  /** Type and reason of what the log says of the sealing of a trail. */
  async told(trail = ORG): Promise<readonly string[]> {
    const events = await this.rig.events.readStream(`auditSeal-${trail}`);
    return events.map(({ type, data }) =>
      typeof data['reason'] === 'string' ? `${type} ${data['reason']}` : type,
    );
  }

  /** As somebody with access to the event store changes an event. */
  alterEvent(at: number, change: Partial<StoredEvent>): void {
    const all = this.rig.events.all as StoredEvent[];
    const event = all[at];
    if (event === undefined) throw new Error('no such event');
    all[at] = { ...event, ...change };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}
