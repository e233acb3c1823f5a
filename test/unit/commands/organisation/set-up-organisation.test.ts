import { expect } from 'chai';
import type { PublicContext } from '../../../../commands/kernel/public-route.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { EventStore } from '../../../../commands/ports/event-store.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { setUpOrganisation } from '../../../../commands/organisation/found-organisation.ts';
import { memoryPorts, OWNER } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const INPUT = {
  token: 'the link',
  email: OWNER.ownerEmail,
  password: OWNER.password,
  name: OWNER.ownerName,
  org_name: OWNER.orgName,
};

describe('setUpOrganisation', () => {
  let ports: Ports;
  beforeEach(() => {
    const links = {
      make: () => Promise.reject(new Error('none is made')),
      find: async (_: string, token: string) => (token === INPUT.token ? { subject: null } : null),
      take: () => Promise.resolve(null),
      takeForPassword: () => Promise.resolve(null),
      withdraw: () => Promise.resolve(),
    };
    ports = { ...memoryPorts().ports, links };
  });

  const setUp = (with_: Partial<Ports> = {}) => {
    const context: PublicContext = {
      surface: 'rest',
      ports: { ...ports, ...with_ },
      routes: { registry: [], publicRoutes: [] },
      requestId: 'req_1',
      source: 'somewhere',
      device: '00',
      sealClient: async (id) => `sealed:${id}:{}` as Sealed,
      afterAnswer: () => undefined,
      notePosition: () => undefined,
    };
    return setUpOrganisation.handle(INPUT, context);
  };

  it(`keeps the link valid when the setup fails anywhere, and uses it up when it succeeds ${verifies('contract:18:setup-link')}`, async () => {
    const full = new GatewayError('overloaded', 'Too many passwords.');
    const busy = withOwn(ports.secrets, { hashPassword: () => Promise.reject(full) });
    expect(await rejection(setUp({ secrets: busy }))).to.equal(full);
    const away = new GatewayError('store_unavailable', 'The store is away.');
    // The setup fails at each step in turn, and repeats none that succeeded.
    for (const reached of [0, 1, 2, 2, 2, 3]) {
      let left = reached;
      const append: EventStore['append'] = (...given) => {
        left -= 1;
        return left < 0 ? Promise.reject(away) : ports.events.append(...given);
      };
      const events = withOwn(ports.events, { append });
      expect(await rejection(setUp({ events })), String(reached)).to.equal(away);
    }
    const made = await setUp();
    expect([...ports.directory.state.organisations.keys()]).to.deep.equal([made.org_id]);
    expect(await rejection(setUp())).to.include({ code: 'invalid_credentials' });
  });

  it('succeeds for one of two concurrent calls with the same link', async () => {
    const both = await Promise.allSettled([setUp(), setUp()]);
    expect(both.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    expect(ports.directory.state.organisations.size).to.equal(1);
  });
});

/** The same, with these changes. */
function withOwn<T extends object>(port: T, own: Partial<T>): T {
  return new Proxy(port, {
    get: (target, property) => {
      const value: unknown = Reflect.get(property in own ? own : target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
