/** People who place and release legal holds in a gateway in memory, and the background work on erasures. */
import { releaseLegalHold, placeLegalHold } from '../../../commands/legal-holds/manage-holds.ts';
import type { Hold } from '../../../commands/legal-holds/hold-payload.ts';
import type { HoldTarget } from '../../../commands/ports/legal-holds.ts';
import type { AccessEntry, Ports } from '../../../commands/ports/ports.ts';
import { byErasures } from '../../../infra/background/erasure-sweepers.ts';
import { InviteWorld } from './invite-world.ts';

export type Named = Pick<HoldTarget, 'type' | 'id'>;

export class HoldWorld {
  readonly world: InviteWorld;
  /** Refusals of known callers, as they are recorded. */
  readonly refusals: AccessEntry[] = [];

  private constructor(world: InviteWorld) {
    this.world = world;
    world.gateway.sql.rows.set('read.draft', []);
    Object.assign(world.ports.accessLog, {
      record: (entry: AccessEntry) => {
        this.refusals.push(entry);
        return Promise.resolve();
      },
    });
  }

  static async open(): Promise<HoldWorld> {
    return new HoldWorld(await InviteWorld.open());
  }

  get ports(): Ports {
    return this.world.ports;
  }

  /** By default as the owner who set up the organisation. */
  async place(targets: readonly Named[], by?: string, key?: string): Promise<Hold> {
    const token = await this.world.gateway.signIn(by);
    const input = { name: 'Example v. Sample', reason: 'They wrote to us.', targets };
    return await this.world.gateway.call<Hold>(placeLegalHold, input, { token, ...(key && { key }) });
  }

  async release(id: string, by?: string): Promise<Hold> {
    const token = await this.world.gateway.signIn(by);
    const input = { hold_id: id, reason: 'Settled.' };
    return await this.world.gateway.call<Hold>(releaseLegalHold, input, { token });
  }

  /** One pass of the row; returns the keys of what it found. */
  async sweep(name: 'account-erasures' | 'mailbox-erasure'): Promise<readonly string[]> {
    await this.world.catchUp();
    const row = byErasures(this.ports).find((each) => each.name === name);
    if (!row) throw new Error(`there is no row ${name}`);
    const room = { now: this.ports.clock.now(), limit: 100, except: [], ofOneMailbox: Infinity, busy: [] };
    const found = await row.find(room);
    for (const task of found) await row.settle(task);
    await this.world.catchUp();
    return found.map((task) => row.keyOf(task));
  }

  typesOf(stream: string): readonly string[] {
    return this.world.gateway.events.all.flatMap(({ streamName, type }) =>
      streamName === stream ? [type] : [],
    );
  }
}
