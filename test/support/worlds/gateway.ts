/** A whole gateway for tests: real Postgres, event node and Dovecot, one organisation, its mailbox connected. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Log } from '../../../commands/ports/ports.ts';
import { PRESETS, isMailboxScope } from '../../../commands/values/scopes.ts';
import {
  bootstrapOrganisation,
  type Bootstrapped,
} from '../../../commands/organisation/bootstrap-organisation.ts';
import { loadConfig } from '../../../infra/process/config.ts';
import { type Gateway, startGateway } from '../../../infra/process/gateway.ts';
import { PASSWORD, type TestDovecot } from '../servers/dovecot.ts';
import { expectDocumented } from '../suite/documented-answer.ts';
import { testDatabase, type TestDatabase } from '../servers/postgres.ts';
import { silentLog } from '../fakes/silent-log.ts';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into answers of every shape
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

export interface CallOptions {
  readonly token?: string | null;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged, instead of JSON. */
  readonly raw?: string;
}

export interface GatewayOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly database?: TestDatabase;
  readonly log?: Log;
  /** Absent = the system's. */
  readonly clock?: Clock;
}

/** One call of the REST adapter; a body is parsed and compared with the OpenAPI document. */
export async function callRest(
  baseUrl: string,
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
  { token, key, headers, raw }: CallOptions,
): Promise<Answer> {
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`${baseUrl}/api/v1${path}`, {
    method,
    headers: {
      ...(token == null ? {} : { authorization: `Bearer ${token}` }),
      ...(content === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...headers,
    },
    ...(content === undefined ? {} : { body: content }),
  });
  const text = await response.text();
  const { status, headers: told } = response;
  const isJson = told.get('content-type')?.startsWith('application/json') === true;
  const parsed: unknown = text === '' ? null : isJson ? JSON.parse(text) : text;
  expectDocumented(method, path, { status, type: told.get('content-type'), body: parsed });
  return { status, headers: told, body: parsed };
}

export class TestGateway {
  readonly gateway: Gateway;
  readonly tokens: Bootstrapped;
  readonly #cleanUp: () => Promise<void>;

  constructor(gateway: Gateway, tokens: Bootstrapped, cleanUp: () => Promise<void>) {
    this.gateway = gateway;
    this.tokens = tokens;
    this.#cleanUp = cleanUp;
  }

  get baseUrl(): string {
    return this.gateway.baseUrl;
  }

  /** A call as the owner by default. */
  rest(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    return callRest(this.baseUrl, [method, path, body], { token: this.tokens.restToken, ...options });
  }

  /** Adds a mailbox on a Dovecot user as the owner, grants the agent, and waits until it is connected. */
  async addMailbox(imap: { host: string; port: number }, user: string, smtpPort = 25): Promise<string> {
    const answer = await this.rest('POST', '/mailboxes', {
      email: `${user}@example.com`,
      imap: { ...imap, security: 'none' },
      smtp: { host: imap.host, port: smtpPort, security: 'none' },
      auth: { type: 'password', username: user, password: PASSWORD },
    });
    const { id } = answer.body as { id: string };
    await this.rest('POST', `/mailboxes/${id}/grants`, {
      principal_id: this.tokens.agentId,
      scopes: PRESETS.operator.filter(isMailboxScope),
    });
    await this.waitForState(id, 'connected');
    return id;
  }

  /** Resolves when the mailbox is in the state; throws with the last one seen. */
  async waitForState(mailboxId: string, state: string, withinMs = 30_000): Promise<void> {
    await eventually(async () => {
      const answer = await this.rest('GET', `/mailboxes/${mailboxId}`);
      const now = (answer.body as { state: string }).state;
      if (now !== state) throw new Error(`the mailbox is ${now}, not ${state}`);
    }, withinMs);
  }

  async stop(): Promise<void> {
    await this.gateway[Symbol.asyncDispose]();
    await this.#cleanUp();
  }
}

/** Retries until it does not throw; throws the last failure at the time limit, which has room for a machine with other work. */
export async function eventually<T>(attempt: () => Promise<T>, withinMs = 20_000): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

/** An answer that is not 503. As clients do, what is loading or behind is asked again. */
export const untilAvailable = <T>(
  ask: () => Promise<T>,
  statusOf: (answer: T) => number | undefined,
): Promise<T> =>
  eventually(async () => {
    const answer = await ask();
    if (statusOf(answer) === 503) throw new Error('the gateway answers 503 all the time');
    return answer;
  });

/** Everything started, the first organisation set up, no mailbox yet. */
export async function startTestGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const database = options.database ?? (await testDatabase());
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  const config = loadConfig({
    DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    PORT: '0',
    EGRESS_ALLOW_MAIL: '127.0.0.0/8:*',
    LIMIT_READS_PER_MINUTE: '1000000',
    LIMIT_WRITES_PER_MINUTE: '1000000',
    LIMIT_CONCURRENT_REQUESTS: '1000',
    LIMIT_SIGN_INS_PER_MINUTE: '1000',
    ...options.env,
  });
  const gateway = await startGateway({
    config,
    log: options.log ?? silentLog,
    strictOutput: true,
    ...(options.clock && { clock: options.clock }),
  });
  const tokens = await bootstrapOrganisation(gateway.ports, {
    orgName: 'First',
    ownerEmail: 'owner@example.com',
    ownerName: 'Olga Owner',
    password: null,
    agentName: 'Agent',
  });
  return new TestGateway(gateway, tokens, async () => {
    if (!options.database) await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });
}

/** A gateway with one connected mailbox of `anna`. */
export async function startWithMailbox(
  dovecot: TestDovecot,
  options: GatewayOptions = {},
): Promise<{ gateway: TestGateway; mailboxId: string }> {
  const gateway = await startTestGateway(options);
  return { gateway, mailboxId: await gateway.addMailbox(dovecot.imap(), 'anna') };
}
