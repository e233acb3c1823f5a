/** A store that is away for long: whoever kept asking is answered within two seconds of its return. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { NewEvent } from '../../../commands/values/event.ts';
import { isLong } from '../../support/suite/long.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { freezableProxy } from './freezable-proxy.ts';
import { freshStream } from './store-under-test.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'AbsenceTested', data: { n }, metadata: {} });

const LONGEST_RECOVERY_MS = 6_000;

/** Callers of each kind: enough that some attempt is always under way. */
const CALLERS = 4;

/** Asks until the store answers; says when. */
async function untilAnswered(ask: () => Promise<unknown>): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      await ask();
      return performance.now();
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') throw error;
    }
  }
  throw new Error('the store never answered');
}

describe('a store that was unreachable', () => {
  const stores = openStores();
  let node: ScriptedNode;

  beforeEach(async () => {
    node = await ScriptedNode.start();
  });

  afterEach(async () => {
    await stores.close();
    node.stop();
  });

  for (const awayMs of isLong ? [6_000, 27_000] : [6_000]) {
    it(`answers appends, reads and subscriptions soon after ${String(awayMs / 1_000)} s`, async function () {
      this.timeout(awayMs + 60_000);
      const store = stores.open({ url: node.url });
      const end = new AbortController();
      const { position } = await store.append('away-1', 'no-stream', [fact()]);
      let caughtUp = 0;
      const following = Array.from({ length: CALLERS }, async () => {
        for await (const item of store.subscribeToAll(position, end.signal)) {
          if (item.kind === 'caught-up') caughtUp += 1;
          if (item.kind === 'event') return performance.now();
        }
        throw new Error('the subscription ended');
      });
      await eventually(() => caughtUp === CALLERS);
      expect(node.reads.calls.filter(({ isSubscription }) => isSubscription)).to.have.length(1);
      node.stop();
      const asking = Array.from({ length: CALLERS }, () => [
        untilAnswered(() => store.append(freshStream(), 'no-stream', [fact()])),
        untilAnswered(() => store.readStream('away-1')),
        untilAnswered(() => store.readLast('away-1')),
        untilAnswered(() => store.readAll(null, 10)),
        untilAnswered(() => store.headPosition()),
      ]).flat();
      await systemClock.sleep(awayMs);
      await node.listen();
      const backAt = performance.now();
      const answeredAt = await Promise.all([...asking, ...following]);
      end.abort();
      for (const at of answeredAt) expect(at - backAt).to.be.within(0, LONGEST_RECOVERY_MS);
    });
  }

  it('is reached over new connections when it has lost the old ones', async () => {
    const store = stores.open({
      url: node.url,
      appendTryTimeoutMs: 300,
      readSilenceMs: 300,
      confirmTimeoutMs: 300,
    });
    await store.append('away-2', 'no-stream', [fact()]);
    await store.readStream('away-2');
    for (const scripts of [node.appends, node.reads]) scripts.once(() => undefined);
    const startedAt = performance.now();
    await Promise.all([store.append('away-2', 0n, [fact()]), store.headPosition()]);
    expect(performance.now() - startedAt).to.be.below(LONGEST_RECOVERY_MS);
  });

  it('keeps no connection when a client was given up or closed', async () => {
    const connections = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
    const before = connections();
    const store = stores.open({ url: node.url, appendTryTimeoutMs: 50, readSilenceMs: 50 });
    const silent = (): void => undefined;
    node.appends.once(silent, silent, silent);
    node.reads.once(silent, silent, silent);
    await store.append('away-4', 'no-stream', [fact()]);
    await store.readStream('away-4');
    // Both ends of one connection for appends and of one for reads.
    await eventually(() => connections() <= before + 4);
    await store.close();
    await eventually(() => connections() <= before);
  });

  /** Waits for the client's own keep-alive, half a minute long. */
  async function behindADeadLine(this: Mocha.Context): Promise<void> {
    this.timeout(120_000);
    const proxy = await freezableProxy(node.port);
    const url = `esdb://127.0.0.1:${String(proxy.port)}?tls=false`;
    const [near, far] = [stores.open({ url: node.url }), stores.open({ url })];
    const end = new AbortController();
    const { position } = await near.append('away-3', 'no-stream', [fact(0)]);
    const seen: unknown[] = [];
    const following = (async () => {
      for await (const item of far.subscribeToAll(position, end.signal)) {
        if (item.kind === 'event') seen.push(item.event.data['n']);
        if (seen.length === 2) return;
      }
    })();
    await near.append('away-3', 0n, [fact(1)]);
    await eventually(() => seen.length === 1);
    proxy.freeze('all');
    await near.append('away-3', 1n, [fact(2)]);
    // The client asks every 10 s whether the other side lives, and waits 10 s for its answer.
    await eventually(() => stores.lines('warn').some((line) => line.startsWith('subscription')), 30_000);
    proxy.cut();
    proxy.thaw();
    await following;
    expect(seen).to.deep.equal([1, 2]);
    await proxy.close();
  }
  if (isLong) it('is followed again when the connection was dead without notice', behindADeadLine);
});
