import { expect } from 'chai';
import fc from 'fast-check';
import type { Filter } from '../../../../commands/mail/mail-filter.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { monitorInbox } from '../../../../read-api/waiting/monitor-inbox.ts';
import { FeedWorld, messageAt } from '../../../support/worlds/feed-world.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** The next step of a test. Messages are numbered from 1 in the order of arrival. */
type Step =
  | { readonly kind: 'arrive'; readonly flags: readonly string[][] }
  | { readonly kind: 'flag'; readonly pick: number; readonly flags: readonly string[] }
  | { readonly kind: 'day' }
  | { readonly kind: 'restart'; readonly process: number }
  | { readonly kind: 'wait'; readonly client: number; readonly process: number };

const flags = fc.subarray(['\\Seen', '\\Flagged', 'later']);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('arrive' as const), flags: fc.array(flags, { minLength: 1, maxLength: 6 }) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('flag' as const), pick: fc.nat(99), flags }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'day' as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), process: fc.nat(1) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), client: fc.nat(1), process: fc.nat(1) }) },
  ),
  { minLength: 5, maxLength: 40 },
); // prettier-ignore

const FILTERS: readonly Filter[] = [{}, { flagged: true }];
const DAY_MS = 86_400_000;
/** The last day of a test, so that no cursor expires. */
const LAST_DAY = new Date('2026-03-05');
/** Keeps everything within one answer. */
const MOST_MESSAGES = 40;

/** What two clients with a filter each must receive, in order: the naive evaluation of the same steps. */
class Story {
  readonly flagsOf = new Map<number, readonly string[]>();
  readonly #told: string[][] = FILTERS.map(() => []);

  told(client: number): readonly string[] {
    return this.#told[client] ?? [];
  }

  arrive(uid: number, now: readonly string[]): void {
    this.flagsOf.set(uid, now);
    this.#told[0]?.push(String(uid));
    if (now.includes('\\Flagged')) this.#told[1]?.push(String(uid));
  }

  flag(uid: number, now: readonly string[]): void {
    const before = this.flagsOf.get(uid) ?? [];
    this.flagsOf.set(uid, now);
    if (now.includes('\\Flagged') && !before.includes('\\Flagged')) this.#told[1]?.push(String(uid));
  }
}

/** A client that continues from cursor to cursor on any process. */
class Client {
  cursor = '';
  #heard = 0;

  /** Receives everything since its last wait, each message once per answer. */
  async wait(world: FeedWorld, ports: Ports, filter: Filter, told: readonly string[]): Promise<void> {
    await world.caughtUp(ports);
    const reply = await world.wait(ports, monitorInbox, { cursor: this.cursor, filter, timeout_seconds: 0 });
    this.cursor = reply.cursor;
    const expected = [...new Set(told.slice(this.#heard))];
    expect(reply.items.map(({ subject }) => subject)).to.deep.equal(expected);
    this.#heard = told.length;
  }
}

class Play {
  readonly #world: FeedWorld;
  readonly #story = new Story();
  readonly #clients = FILTERS.map(() => new Client());
  readonly #processes: [Ports, Ports];

  private constructor(world: FeedWorld, processes: [Ports, Ports]) {
    this.#world = world;
    this.#processes = processes;
  }

  /** Two processes with little memory, so that most cursors are answered from the streams. */
  static async through(steps: readonly Step[]): Promise<void> {
    const world = await FeedWorld.start();
    try {
      const play = new Play(world, [
        await world.process({ recentChanges: 4 }),
        await world.process({ recentChanges: 12 }),
      ]);
      await play.#run(steps);
    } finally {
      await world.stop();
    }
  }

  async #run(steps: readonly Step[]): Promise<void> {
    const [ports] = this.#processes;
    for (const client of this.#clients) {
      client.cursor = (await this.#world.wait(ports, monitorInbox, { timeout_seconds: 0 })).cursor;
    }
    for (const step of steps) await this.#take(step);
    for (const index of this.#clients.keys()) {
      await this.#wait(index, 0);
      await this.#wait(index, 1);
    }
  }

  async #take(step: Step): Promise<void> {
    if (step.kind === 'arrive') await this.#arrive(step.flags);
    else if (step.kind === 'flag') await this.#flag(step.pick, step.flags);
    else if (step.kind === 'wait') await this.#wait(step.client, step.process);
    else if (step.kind === 'restart') {
      this.#processes[step.process] = await this.#world.process({ recentChanges: 4 });
    } else if (this.#world.gateway.clock.now() < LAST_DAY) this.#world.gateway.clock.advance(DAY_MS / 4);
  }

  async #arrive(flags: readonly string[][]): Promise<void> {
    const known = this.#story.flagsOf.size;
    if (known >= MOST_MESSAGES) return;
    const changes = flags.map((now, index) => ({ uid: known + 1 + index, flags: now }));
    for (const { uid, flags: now } of changes) {
      this.#world.messages.set(uid, messageAt(uid, { subject: String(uid) }));
      this.#story.arrive(uid, now);
    }
    await this.#world.observe(changes);
  }

  async #flag(pick: number, flags: readonly string[]): Promise<void> {
    const known = this.#story.flagsOf.size;
    if (known === 0) return;
    const uid = (pick % known) + 1;
    const flags_before = [...(this.#story.flagsOf.get(uid) ?? [])];
    await this.#world.observe([{ uid, kind: 'updated', flags: [...flags], flags_before }]);
    this.#story.flag(uid, flags);
  }

  async #wait(client: number, process: number): Promise<void> {
    const ports = this.#processes[process];
    if (!ports) return;
    await this.#clients[client]?.wait(this.#world, ports, FILTERS[client] ?? {}, this.#story.told(client));
  }
}

describe('a cursor of waits', () => {
  it(`omits and repeats nothing, whichever process answers and whatever it has in memory ${verifies('contract:5:no-gap-no-repeat', 'contract:5:begins-to-match')}`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, (taken) => Play.through(taken)),
      { numRuns: 60 },
    );
  });
});
