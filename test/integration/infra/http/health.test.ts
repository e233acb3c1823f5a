import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { type Checks, healthRouter } from '../../../../infra/http/health-router.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

interface Ready {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly ok: boolean }>>;
}

describe('the health endpoints', () => {
  const warned: object[] = [];
  const log = { ...silentLog, warn: (_: string, fields: object = {}) => void warned.push(fields) };
  beforeEach(() => {
    warned.length = 0;
  });
  const ask = async (checks: Checks, path: string): Promise<{ status: number; body: Ready }> => {
    const server = express()
      .use('/health', healthRouter(checks, log, 50))
      .listen(0, '127.0.0.1');
    try {
      await new Promise((resolve) => server.once('listening', resolve));
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      const response = await fetch(`http://127.0.0.1:${String(address.port)}/health/${path}`);
      expect(response.headers.get('cache-control')).to.equal('no-store');
      return { status: response.status, body: (await response.json()) as Ready };
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };
  const passing = async () => ({ leader: true });
  const failing = async () => {
    throw new Error('the store is away');
  };

  it('report live in every state of the parts', async () => {
    expect((await ask({ store: failing }, 'live')).status).to.equal(200);
  });

  it(`report ready when every part answers, and show only public facts ${verifies('contract:20:health')}`, async () => {
    const { status, body } = await ask({ store: passing, database: async () => ({}) }, 'ready');
    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      status: 'ready',
      checks: { store: { ok: true, leader: true }, database: { ok: true } },
    });
  });

  it('report not ready and name the part when it fails, with the reason in the log', async () => {
    const { status, body } = await ask({ store: failing, database: passing }, 'ready');
    expect(status).to.equal(503);
    expect(body).to.deep.equal({
      status: 'not_ready',
      checks: { store: { ok: false }, database: { ok: true, leader: true } },
    });
    expect(warned).to.deep.equal([{ check: 'store', problem: 'the store is away' }]);
  });

  it('never replace a newer result by an older one', async () => {
    const ends: (() => void)[] = [];
    const store = () =>
      new Promise<Readonly<Record<string, unknown>>>((resolve) => {
        ends.push(() => {
          resolve({});
        });
      });
    const server = express().use('/health', healthRouter({ store }, log)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ready = async () => (await fetch(`http://127.0.0.1:${String(port)}/health/ready`)).status;
    try {
      const [first, second] = [ready(), ready()];
      await eventually(() => ends.length > 0);
      await systemClock.sleep(50);
      // A look of its own for the second would end by itself, after the first was told.
      expect(ends).to.have.length(1);
      ends[0]?.();
      expect(await Promise.all([first, second])).to.deep.equal([200, 200]);
      const third = ready();
      await eventually(() => ends.length === 2);
      ends[1]?.();
      expect(await third).to.equal(200);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('answer without a part that never answers', async () => {
    const { promise: never } = Promise.withResolvers<never>();
    const { status, body } = await ask({ store: () => never, database: passing }, 'ready');
    expect(status).to.equal(503);
    expect(body.checks['store']).to.deep.equal({ ok: false });
    expect(warned).to.deep.equal([{ check: 'store', problem: 'no answer in time' }]);
  });
});
