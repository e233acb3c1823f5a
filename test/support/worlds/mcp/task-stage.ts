/** The MCP endpoint with tasks in a real table, and a tool that ends when a test releases it. */
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { z } from 'zod';
import { defineCapability } from '../../../../commands/kernel/capability.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { ChangeFeed } from '../../../../commands/ports/change-feed.ts';
import type { Ports, Sql } from '../../../../commands/ports/ports.ts';
import { type RunningLeases, startLeases } from '../../../../infra/postgres/leases.ts';
import { PostgresMcpTasks } from '../../../../infra/postgres/mcp-tasks.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { plainPersonalData } from '../memory-gateway.ts';
import { testDatabase, type TestDatabase } from '../../servers/postgres.ts';
import { silentLog } from '../../fakes/silent-log.ts';
import { sampleCaller } from './sample-caller.ts';
import { samplePorts } from './sample-ports.ts';
import { type ServedMcp, serveMcp } from './serve-mcp.ts';

interface Reply {
  readonly status: 'matched' | 'timed_out';
}

/** A running `note_await`. */
export interface Waiting {
  readonly gone: AbortSignal | undefined;
  answer(reply: Reply): void;
  fail(error: Error): void;
}

const Input = z.strictObject({ mailbox_id: z.string(), note: z.string().optional() });

const noteAwait = (under: Waiting[]) =>
  defineCapability<z.output<typeof Input>, Reply>({
    name: 'note_await',
    title: 'Await notes',
    summary: 'Wait for notes.',
    description: 'Wait for notes.',
    effect: 'read',
    access: { any: ['messages:read'], mailbox: ({ mailbox_id }) => mailbox_id },
    rest: null,
    tool: {
      surface: 'advertised',
      hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
      asTask: true,
    },
    waits: true,
    idempotency: { kind: 'none' },
    input: Input,
    output: z.object({ status: z.enum(['matched', 'timed_out']) }),
    handle: (_, { request }) =>
      new Promise<Reply>((resolve, reject) => {
        request.gone?.addEventListener('abort', () => {
          resolve({ status: 'timed_out' });
        });
        under.push({ gone: request.gone, answer: resolve, fail: reject });
      }),
  });

export const notThere = (): GatewayError => new GatewayError('mailbox_unavailable', 'It is away.');

/** One process of several on the same table. */
export interface TaskProcess {
  readonly served: ServedMcp;
  readonly waiting: Waiting[];
  readonly leases: RunningLeases;
  readonly ending: { isEnding: boolean };
}

export class TaskStage {
  readonly #database: TestDatabase;
  readonly #pool: Pool;
  readonly sql: Sql;
  readonly #processes: (TaskProcess & { readonly tasks: PostgresMcpTasks })[] = [];
  /** The same sessions in every process, as in the table. */
  readonly #shared = samplePorts();

  private constructor(database: TestDatabase, pool: Pool) {
    this.#database = database;
    this.#pool = pool;
    this.sql = postgresSql(pool);
  }

  static async start(): Promise<TaskStage> {
    const database = await testDatabase();
    return new TaskStage(database, openPool({ url: database.url, log: silentLog }));
  }

  async process(): Promise<TaskProcess> {
    const leases = startLeases(this.sql, silentLog);
    const tasks = new PostgresMcpTasks(this.sql, leases, silentLog);
    const ending = { isEnding: false };
    const waiting: Waiting[] = [];
    const { ids } = this.#shared.ports;
    const ports = {
      tasks,
      leases,
      sessions: this.#shared.sessions,
      clock: systemClock,
      personal: plainPersonalData(),
      feed: ending as ChangeFeed,
      ids: { ...ids, newId: (prefix) => `${prefix}_${randomUUID()}` },
    } satisfies Partial<Ports> as Partial<Ports> as Ports;
    const served = await serveMcp({}, { registry: [noteAwait(waiting)], ports });
    served.gate.callers
      .set('one', sampleCaller())
      .set('other', sampleCaller({ principalId: 'agt_2', tokenId: 'tok_2' }));
    served.gate.callers.set('same', sampleCaller({ tokenId: 'tok_3' }));
    served.gate.callers.set('narrow', sampleCaller({ tokenId: 'tok_4', scopes: ['messages:archive'] }));
    const started = { served, waiting, leases, ending, tasks };
    this.#processes.push(started);
    return started;
  }

  async close(): Promise<void> {
    for (const { served, leases, tasks, waiting } of this.#processes) {
      for (const one of waiting) one.answer({ status: 'timed_out' });
      await served.close();
      tasks.close();
      await leases.close();
    }
    await this.#pool.end();
    await this.#database.drop();
  }
}
