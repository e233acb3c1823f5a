import { expect } from 'chai';
import { httpSink, type Sink } from '../support/servers/webhook-sinks.ts';
import { verifies } from '../support/suite/verifies.ts';
import { type Answer, eventually, type Json } from '../support/worlds/gateway.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';

const SETTINGS = { EGRESS_ALLOW_WEBHOOKS: '127.0.0.1/32:*', LEASE_SECONDS: '2' };
const TOKENS = 20;
const REPLAYS = 15;
const TESTS = 5;
/** The caller of a test waits for the answer, and is killed by then. */
const TEST_ANSWERED_AFTER_MS = 2_000;

interface Call {
  readonly key: string;
  readonly path: string;
  readonly body?: unknown;
}

const times = <T>(count: number, of: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => of(n));

describe('kill -9 of the process that answers while webhooks are delivered', function () {
  this.timeout(120_000);
  let set: ReplicaSet;
  let sink: Sink;
  let endpointId: string;
  const received: { readonly id: string; readonly payload: Json }[] = [];

  before(async () => {
    sink = await httpSink(({ headers, body }, response) => {
      const payload = JSON.parse(body);
      received.push({ id: String(headers['webhook-id']), payload });
      setTimeout(
        () => response.end(),
        payload.type === 'webhook_endpoint.test' ? TEST_ANSWERED_AFTER_MS : 20,
      );
    });
    set = await ReplicaSet.start({}, () =>
      ['api', 'api', 'projector,webhooks'].map((ROLES) => ({ ROLES, ...SETTINGS })),
    );
    const wanted = { url: sink.url, event_types: ['token.issued'] };
    const { status, body } = await set.rest(0, ['POST', '/webhook-endpoints', wanted]);
    expect(status, JSON.stringify(body)).to.equal(201);
    endpointId = body.id;
  });
  after(async () => {
    await set.remove();
    await sink[Symbol.asyncDispose]();
  });

  const issue = (n: number): Call => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { name: `token ${String(n)}`, surface: 'rest', scopes: ['mailboxes:read'], expires_at };
    return { key: `token-${String(n)}`, path: '/tokens', body };
  };
  const call = (replica: number, { key, path, body }: Call): Promise<Answer> =>
    set.rest(replica, ['POST', path, body], { key });
  /** Repeated as a caller does: with the same key, until it is answered. */
  const repeat = (each: Call): Promise<Answer> =>
    eventually(async () => {
      const answer = await call(1, each);
      if (answer.body?.error?.retryable === true) throw new Error(JSON.stringify(answer.body));
      return answer;
    }, 30_000);
  const deliveries = async (): Promise<readonly Json[]> =>
    (await set.rest(1, ['GET', '/deliveries?limit=200'])).body.items as Json[];
  const delivered = (trigger: string, count: number): Promise<readonly Json[]> =>
    eventually(async () => {
      const found = (await deliveries()).filter((each) => each.trigger === trigger);
      if (found.filter(({ status }) => status === 'succeeded').length >= count) return found;
      throw new Error(`${String(found.length)} of ${trigger}`);
    }, 20_000);

  it(`does what was asked once, or answers its repeat, and loses nothing ${verifies('contract:11:at-least-once')}`, async () => {
    await Promise.all(times(TOKENS, (n) => call(0, issue(n))));
    const sources = (await delivered('event', TOKENS)).slice(0, REPLAYS);
    const calls: readonly Call[] = [
      ...times(TESTS, (n) => ({
        key: `test-${String(n)}`,
        path: `/webhook-endpoints/${endpointId}/test`,
      })),
      ...sources.map(({ id }) => ({ key: `replay-${String(id)}`, path: `/deliveries/${String(id)}/replay` })),
      ...times(TOKENS, (n) => issue(TOKENS + n)),
    ];
    const before = received.length;
    const first = calls.map((each) => call(0, each).catch(() => null));
    await eventually(() => {
      const since = received.slice(before).map(({ payload }) => payload.type);
      expect(since).to.include.members(['webhook_endpoint.test', 'token.issued']);
      return Promise.resolve();
    });
    await set.replicas[0]?.kill();
    const answers = await Promise.all(first);
    const unanswered = calls.filter((_, index) => answers[index] === null);
    expect(unanswered.map(({ key }) => key)).to.include('test-0');
    const ends = await Promise.all(calls.map(async (each, index) => answers[index] ?? (await repeat(each))));
    expect(ends.filter(({ status }) => status >= 300).map(({ body }) => body)).to.deep.equal([]);

    // Each event once, in numbers without a gap, under one id.
    const events = await delivered('event', 2 * TOKENS);
    expect(events.map(({ payload }) => payload.sequence).toSorted((a, b) => a - b)).to.deep.equal(
      times(2 * TOKENS, (n) => n + 1),
    );
    const issued = received.filter(({ payload }) => payload.type === 'token.issued');
    const idsOf = Map.groupBy(issued, ({ payload }) => String(payload.data.token_id));
    expect(idsOf.size).to.equal(2 * TOKENS);
    for (const [tokenId, told] of idsOf) expect(new Set(told.map(({ id }) => id)).size, tokenId).to.equal(1);
    const made = ends.slice(-TOKENS).map(({ body }) => String(body.id));
    expect(made.filter((id) => !idsOf.has(id))).to.deep.equal([]);

    // Each replay once, each test under one id.
    const replays = await delivered('replay', REPLAYS);
    expect(replays.map(({ replay_of }) => replay_of)).to.have.members(sources.map(({ id }) => id));
    expect(new Set(replays.map(({ id }) => id))).to.deep.equal(
      new Set(ends.slice(TESTS, TESTS + REPLAYS).map(({ body }) => body.id)),
    );
    const tests = await delivered('test', TESTS);
    const testIds = ends.slice(0, TESTS).map(({ body }) => body.event_id);
    expect(tests.map(({ event_id }) => event_id)).to.have.members(testIds);
    const sent = received.filter(({ payload }) => payload.type === 'webhook_endpoint.test');
    expect(new Set(sent.map(({ id }) => id))).to.deep.equal(new Set(testIds));
    // A repeat of what was answered or done is answered the same, and does nothing.
    const again = await Promise.all(calls.slice(0, TESTS + REPLAYS).map(repeat));
    expect(again.map(({ body }) => body.id)).to.deep.equal(
      ends.slice(0, TESTS + REPLAYS).map(({ body }) => body.id),
    );
    expect(await deliveries()).to.have.length(2 * TOKENS + REPLAYS + TESTS);
  });
});
