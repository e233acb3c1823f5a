import { expect } from 'chai';
import { keepRunning } from '../../../../../infra/postgres/embedded/keep-postgres-running.ts';
import type { PostgresProcess } from '../../../../../infra/postgres/embedded/postgres-process.ts';
import { silentLog } from '../../../../support/fakes/silent-log.ts';

/** A server that runs until it is stopped or ends. */
function fakeServer(pid: number): PostgresProcess & { readonly end: () => void; isStopped: boolean } {
  const { promise: gone, resolve } = Promise.withResolvers<undefined>();
  const server = {
    port: 5432,
    pid,
    gone: gone.then(() => undefined),
    isStopped: false,
    end: () => {
      resolve(undefined);
    },
    stop: () => {
      server.isStopped = true;
      resolve(undefined);
      return Promise.resolve();
    },
  };
  return server;
}

describe('keepRunning', () => {
  it('stops a server that is restarting when the stop arrives', async () => {
    const [first, second] = [fakeServer(1), fakeServer(2)];
    const restart = Promise.withResolvers<PostgresProcess>();
    const asked = Promise.withResolvers<undefined>();
    let launches = 0;
    const kept = await keepRunning(() => {
      launches += 1;
      if (launches === 1) return Promise.resolve(first);
      asked.resolve(undefined);
      return restart.promise;
    }, silentLog);
    first.end();
    await asked.promise;
    const stopped = kept.stop();
    restart.resolve(second);
    await stopped;
    expect(second.isStopped).to.equal(true);
    expect(launches).to.equal(2);
  });

  it('gives up a restart that is under way when the stop comes', async () => {
    const first = fakeServer(1);
    const asked = Promise.withResolvers<undefined>();
    const kept = await keepRunning((_port, signal) => {
      if (signal === undefined) return Promise.resolve(first);
      asked.resolve(undefined);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('given up'));
        });
      });
    }, silentLog);
    first.end();
    await asked.promise;
    await kept.stop();
  });
});
