/**
 * How long the routes of strangers take for an address that is known, unverified or unknown. That they do equal work is shown
 * by counting (test/unit/commands/accounts/no-enumeration.test.ts); here the clock must not tell the addresses apart either.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { addPerson } from '../../commands/organisation/add-person.ts';
import { areTold, medianOf, shareLonger } from '../support/models/timing.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';
import { callRest, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD } from '../support/worlds/sign-in.ts';

const TRIES = timesOf(20, 200);
const KINDS = ['known', 'unverified', 'unknown'] as const;
type Kind = (typeof KINDS)[number];
/** What a call does after its answer has ended by then; it would slow the next one. */
const SETTLED_MS = 10;
const OTHER_PASSWORD = 'another long passphrase';
const WRONG_PASSWORD = 'of no account at all';

interface Route {
  readonly path: string;
  readonly status: number;
  readonly body: (email: string) => object;
}

const ROUTES: readonly Route[] = [
  {
    path: '/auth/signup',
    status: 202,
    body: (email) => ({ email, password: OTHER_PASSWORD, name: 'Sam', org_name: 'Sam Ltd' }),
  },
  { path: '/auth/password/forgot', status: 202, body: (email) => ({ email }) },
  { path: '/auth/verify/resend', status: 202, body: (email) => ({ email }) },
  { path: '/auth/login', status: 401, body: (email) => ({ email, password: WRONG_PASSWORD }) },
];

const PAIRS: readonly (readonly [Kind, Kind])[] = [
  ['known', 'unknown'],
  ['unverified', 'unknown'],
  ['known', 'unverified'],
];

describe('the time that a stranger waits', function () {
  this.timeout(timesOf(400_000, 1_800_000));
  let gateway: TestGateway;
  let sources = 0;

  before(async () => {
    const limits = { LIMIT_SIGN_INS_PER_MINUTE: '1000000' };
    gateway = await startTestGateway({ env: { SIGNUP: 'open', TRUSTED_PROXIES: '127.0.0.1', ...limits } });
  });
  after(() => gateway.stop());

  /** From a new address each time, so that no limit of a source is reached. */
  const post = async (path: string, body: object): Promise<number> => {
    sources += 1;
    const headers = { 'x-forwarded-for': `10.${[16, 8, 0].map((by) => (sources >> by) & 255).join('.')}` };
    return (await callRest(gateway.baseUrl, ['POST', path, body], { headers })).status;
  };

  /** Every try has addresses of its own: naming one often has no effect after a few times. */
  const prepare = async (): Promise<void> => {
    const { ports } = gateway.gateway;
    const { orgId } = gateway.tokens;
    const hashed = await ports.secrets.hashPassword(PERSON_PASSWORD);
    for (let n = 0; n < TRIES; n += 1) {
      const person = { orgId, email: `known${String(n)}@example.com`, name: 'Kim', role: 'member' } as const;
      await ports.secrets.savePassword(await addPerson(ports, systemAuthor(ports, orgId), person), hashed);
      const account = { password: PERSON_PASSWORD, name: 'Uma', org_name: 'Uma Ltd' };
      const email = `unverified${String(n)}@example.com`;
      expect(await post('/auth/signup', { ...account, email })).to.equal(202);
    }
  };

  /** A sign-up makes its address known, so an unknown one is unknown to one route only. */
  const addressOf = (kind: Kind, route: number, n: number): string =>
    `${kind}${String(n)}${kind === 'unknown' ? `.${String(route)}` : ''}@example.com`;

  it(`does not tell whether an address is known ${verifies('contract:18:no-enumeration')}`, async () => {
    await prepare();
    const times = ROUTES.map((): Record<Kind, number[]> => ({ known: [], unverified: [], unknown: [] }));
    for (let n = 0; n < TRIES; n += 1) {
      for (const [at, { path, status, body }] of ROUTES.entries()) {
        // Directly after each other, in any order: load and drift of the machine meet all three alike.
        for (const kind of KINDS.toSorted(() => Math.random() - 0.5)) {
          const startedAt = performance.now();
          expect(await post(path, body(addressOf(kind, at, n))), path).to.equal(status);
          times[at]?.[kind].push(performance.now() - startedAt);
          await pause(SETTLED_MS);
        }
      }
    }
    const told = ROUTES.flatMap(({ path }, at) =>
      PAIRS.flatMap(([one, other]) => {
        const [a, b] = [times[at]?.[one] ?? [], times[at]?.[other] ?? []];
        const ratio = (medianOf(a) / medianOf(b)).toFixed(3);
        const sentence = `${path}: ${one} takes ${ratio} of ${other}, longer in ${(shareLonger(a, b) * 100).toFixed(1)} %`;
        figure(sentence);
        return areTold(a, b) ? [sentence] : [];
      }),
    );
    expect(told).to.deep.equal([]);
  });
});
