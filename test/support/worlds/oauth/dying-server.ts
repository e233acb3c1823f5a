/** The authorization server and REST as a process that dies at one of its writes: what it wrote stays, then it answers nothing. */
import express from 'express';
import type { Ports, Sql } from '../../../../commands/ports/ports.ts';
import { textOf } from '../../../../commands/ports/statement.ts';
import { openAuthorizationServer } from '../../../../infra/authorization-server/authorization-server.ts';
import { createAuthorizationRequests } from '../../../../infra/authorization-server/authorization-requests.ts';
import { StateRows } from '../../../../infra/authorization-server/state-rows.ts';
import { type HttpServer, startHttpServer } from '../../../../infra/http/http-server.ts';
import { createMetrics } from '../../../../infra/observability/metrics.ts';
import { loadConfig } from '../../../../infra/process/config.ts';
import { openStorage, type Storage } from '../../../../infra/process/storage.ts';
import { capabilities } from '../../../../read-api/capabilities.ts';
import { openRequestGates } from '../../../../read-api/http/request-gate.ts';
import { publicRoutes } from '../../../../read-api/http/public-routes.ts';
import { restRouter } from '../../../../read-api/http/rest-router.ts';
import { ProcessGone } from '../../fakes/breaking-mailbox.ts';
import { silentLog } from '../../fakes/silent-log.ts';

/** The write at which it dies, counted from 0, and whether that one is still written. */
export interface Fate {
  readonly write: number;
  readonly isWritten: boolean;
}

export class DyingServer implements AsyncDisposable {
  #writes = 0;
  #isGone = false;
  #fate: Fate | null = null;
  #server: HttpServer | null = null;

  get address(): string {
    return `http://127.0.0.1:${String(this.#server?.port)}`;
  }

  isGone(): boolean {
    return this.#isGone;
  }

  /** Lives again, until that write. */
  restart(fate: Fate): void {
    this.#writes = 0;
    this.#isGone = false;
    this.#fate = fate;
  }

  /** On the stores of a gateway with these settings, in its name. */
  static async start(
    live: Ports,
    settings: Readonly<Record<string, string>>,
    opened: AsyncDisposableStack,
  ): Promise<DyingServer> {
    const dying = new DyingServer();
    const storage = await openStorage({ config: loadConfig(settings), log: silentLog }, opened);
    const ports = dying.#portsOf(live, storage);
    const { masterKey, vault } = storage;
    const { signingKeys } = vault;
    const oauth = { masterKey, signingKeys, egressAllow: [], selfRegistration: true };
    const door = openRequestGates(ports, { allowedOrigins: [], noteUse: () => undefined }).rest;
    const metrics = createMetrics();
    const server = await startHttpServer({ host: '127.0.0.1', port: 0, log: silentLog, metrics });
    const nothing = express.Router();
    server.serve({
      faces: {
        rest: restRouter({ registry: capabilities, publicRoutes, ports, door }),
        oauth: openAuthorizationServer({ ports, ...oauth }),
        providerCallback: nothing,
        wellKnown: nothing,
        unsubscribe: nothing,
        console: nothing,
        mcp: (_, response) => response.writeHead(404).end(),
      },
      checks: {},
    });
    dying.#server = server;
    return dying;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close();
  }

  #portsOf(live: Ports, { masterKey }: Storage): Ports {
    const { events, accessLog, clock } = live;
    const sql: Sql = {
      query: (text, parameters) => {
        const isWrite = textOf(text).includes('vault.oauth_state') && !textOf(text).startsWith('select');
        return isWrite
          ? this.#write(() => live.sql.query(text, parameters))
          : live.sql.query(text, parameters);
      },
      transaction: (work) => this.#write(() => live.sql.transaction(work)),
    };
    const rows = new StateRows({ sql, masterKey, clock });
    return {
      ...live,
      log: silentLog,
      sql,
      events: {
        append: (stream, expected, added) => this.#write(() => events.append(stream, expected, added)),
        readStream: (stream, from) => events.readStream(stream, from),
        readLast: (stream) => events.readLast(stream),
        headPosition: () => events.headPosition(),
        readAll: (after, most) => events.readAll(after, most),
        subscribeToAll: (from, signal, filter) => events.subscribeToAll(from, signal, filter),
      },
      accessLog: {
        record: (entry) => this.#write(() => accessLog.record(entry)),
        countRefusal: (...given) => {
          accessLog.countRefusal(...given);
        },
      },
      authorizationRequests: createAuthorizationRequests({ ...live, rows }),
    };
  }

  async #write<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isGone) throw new ProcessGone();
    const isLast = this.#fate?.write === this.#writes;
    this.#writes += 1;
    if (isLast) this.#isGone = true;
    if (isLast && this.#fate?.isWritten !== true) throw new ProcessGone();
    const result = await work();
    // Another write that was under way when it died has an outcome that nobody hears of.
    if (this.isGone()) throw new ProcessGone();
    return result;
  }
}
