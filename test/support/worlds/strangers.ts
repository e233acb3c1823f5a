/** Public routes called on a gateway in memory, and what each call cost. */
import type { PublicContext } from '../../../commands/kernel/public-route.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { EventStore } from '../../../commands/ports/event-store.ts';
import type { Secrets } from '../../../commands/ports/sign-in-port.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { Sealed } from '../../../commands/values/sealed.ts';
import type { MemoryGateway } from './memory-gateway.ts';

/** Everything that a stranger could tell addresses apart by. */
export interface Cost {
  readonly answer: unknown;
  /** Types of the appended events, in order. */
  readonly events: readonly string[];
  readonly hashes: number;
  readonly reads: number;
}

export class Strangers {
  readonly ports: Ports;
  readonly #gateway: MemoryGateway;
  #hashes = 0;
  #reads = 0;
  #afterAnswers: Promise<void>[] = [];

  constructor(gateway: MemoryGateway, signUp: Ports['server']['signUp'] = 'open') {
    this.#gateway = gateway;
    const { secrets, events, server } = gateway.ports;
    const counted = replacing<Secrets>(secrets, {
      hashPassword: (password) => {
        this.#hashes += 1;
        return secrets.hashPassword(password);
      },
      verifyPassword: (userId, password) => {
        this.#hashes += 1;
        return secrets.verifyPassword(userId, password);
      },
    });
    const readStream: EventStore['readStream'] = (...given) => {
      this.#reads += 1;
      return events.readStream(...given);
    };
    this.ports = {
      ...gateway.ports,
      secrets: counted,
      events: replacing<EventStore>(events, { readStream }),
      server: { ...server, signUp },
    };
  }

  context(traits: Partial<PublicContext> = {}): PublicContext {
    return {
      ports: this.ports,
      routes: { registry: [], publicRoutes: [] },
      requestId: 'req_1',
      surface: 'rest',
      source: 'somewhere',
      device: '00',
      sealClient: async (id) => `sealed:${id}:{}` as Sealed,
      afterAnswer: (work) => {
        this.#afterAnswers.push(Promise.resolve().then(work));
      },
      notePosition: () => undefined,
      ...traits,
    };
  }

  /** Runs a call and everything after its answer; an error is its answer. */
  async costOf(call: () => Promise<unknown>): Promise<Cost> {
    const { all } = this.#gateway.events;
    const before = all.length;
    [this.#hashes, this.#reads] = [0, 0];
    const answer = await call().catch((error: unknown) =>
      error instanceof GatewayError ? { code: error.code, message: error.message } : error,
    );
    const [hashes, reads] = [this.#hashes, this.#reads];
    await Promise.all(this.#afterAnswers.splice(0));
    return { answer, hashes, reads, events: all.slice(before).map(({ type }) => type) };
  }
}

/** The instance with some methods of its own. */
const replacing = <T extends object>(instance: T, own: Partial<T>): T =>
  new Proxy(instance, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
