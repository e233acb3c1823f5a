/** Several gateways on one process with the stores, as in an installation behind a load balancer. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRESETS, isMailboxScope } from '../../../commands/values/scopes.ts';
import { bootstrapCommand } from '../../../infra/admin/bootstrap-command.ts';
import { openForAdmin } from '../../../infra/admin/open-for-command.ts';
import { policyCommand } from '../../../infra/admin/policy-command.ts';
import { stopOrphan } from '../../../infra/postgres/embedded/postgres-orphan.ts';
import { loadConfig } from '../../../infra/process/config.ts';
import { readRunFile, type RunFacts } from '../../../infra/process/run-file.ts';
import { PASSWORD } from '../servers/dovecot.ts';
import { type Answer, callRest, type CallOptions, eventually } from './gateway.ts';
import { GatewayProcess } from './gateway-process.ts';
import { type RawAnswer, rawMcp, type RawRequest } from './mcp/raw-mcp.ts';
import { silentLog } from '../fakes/silent-log.ts';

/** The output of `npm run admin -- bootstrap`. */
export interface Tokens {
  readonly org_id: string;
  readonly agent_id: string;
  readonly user_id: string;
  readonly rest_token: string;
  readonly mcp_token: string;
  /** Where the owner sets a password. */
  readonly password_link: string;
}

export type Settings = Readonly<Record<string, string>>;

/** The address of the load balancer; no process listens there. */
export const BASE_URL = 'http://gateway.example';

const UNLIMITED = {
  LIMIT_READS_PER_MINUTE: '1000000',
  LIMIT_WRITES_PER_MINUTE: '1000000',
  LIMIT_CONCURRENT_REQUESTS: '1000',
  LIMIT_SIGN_INS_PER_MINUTE: '1000',
};

export class ReplicaSet {
  readonly dataDir: string;
  readonly tokens: Tokens;
  readonly replicas: readonly GatewayProcess[];
  readonly #storeSettings: Settings;
  stores: GatewayProcess;

  private constructor(
    { dataDir, tokens, replicas, stores }: Pick<ReplicaSet, 'dataDir' | 'tokens' | 'replicas' | 'stores'>,
    storeSettings: Settings,
  ) {
    this.dataDir = dataDir;
    this.tokens = tokens;
    this.replicas = replicas;
    this.stores = stores;
    this.#storeSettings = storeSettings;
  }

  /**
   * Starts the stores, sets up the first organisation, then starts a replica for each settings that
   * `replicasOf` returns; it receives the addresses of the stores, for replicas that reach them another way.
   */
  static async start(
    stores: Settings,
    replicasOf: (facts: RunFacts) => Promise<readonly Settings[]> | readonly Settings[],
  ): Promise<ReplicaSet> {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-replicas-'));
    const storeSettings = { ROLES: 'embedded', DATA_DIR: dataDir, STORE_PORT: '0', ...stores };
    const owner = await GatewayProcess.start({ env: storeSettings });
    const facts = readRunFile(dataDir);
    if (facts === null) throw new Error('the process with the stores wrote no run file');
    const tokens = await bootstrap(replicaSettings(dataDir));
    const settings = await replicasOf(facts);
    const replicas = settings.map((own) => GatewayProcess.spawn({ env: replicaSettings(dataDir, own) }));
    const set = new ReplicaSet({ dataDir, tokens, replicas, stores: owner }, storeSettings);
    try {
      await Promise.all(replicas.map((replica) => replica.ready()));
    } catch (error) {
      await set.remove();
      throw error;
    }
    return set;
  }

  /** Settings of one more process on the same folder. */
  settings(own: Settings = {}): Settings {
    return replicaSettings(this.dataDir, own);
  }

  /** A REST call on one replica, by default as the owner. */
  rest(
    replica: number,
    [method, path, body]: readonly [method: string, path: string, body?: unknown],
    options: CallOptions = {},
  ): Promise<Answer> {
    const token = this.tokens.rest_token;
    return callRest(this.#replica(replica).address, [method, path, body], { token, ...options });
  }

  /** A call of `/mcp` on one replica, by default as the agent. */
  mcp(replica: number, request: RawRequest): Promise<RawAnswer> {
    const url = `${this.#replica(replica).address}/mcp`;
    return rawMcp(url, { bearer: this.tokens.mcp_token, ...request });
  }

  /** Allows people's own tokens to send within a domain, as the operator does. */
  async allowSending(domain: string): Promise<void> {
    const file = join(this.dataDir, 'policy.json');
    const when = { actions: ['send'], actors: ['delegated'], recipient_domains: [domain] };
    await writeFile(
      file,
      JSON.stringify({ rules: [{ id: 'own-domain', when, then: { decision: 'allow' } }] }),
    );
    await using core = await openForAdmin(loadConfig(this.settings()), silentLog);
    await policyCommand(core.ports, { file, org: undefined });
  }

  /** Adds anna's mailbox on the first replica, grants the agent, and waits until it is connected. */
  async addMailbox(
    { host, port }: { readonly host: string; readonly port: number },
    smtpPort = 25,
  ): Promise<string> {
    const answer = await this.rest(0, [
      'POST',
      '/mailboxes',
      {
        email: 'anna@example.com',
        imap: { host, port, security: 'none' },
        smtp: { host, port: smtpPort, security: 'none' },
        auth: { type: 'password', username: 'anna', password: PASSWORD },
      },
    ]);
    const { id } = answer.body as { id: string };
    const scopes = PRESETS.operator.filter(isMailboxScope);
    await this.rest(0, ['POST', `/mailboxes/${id}/grants`, { principal_id: this.tokens.agent_id, scopes }]);
    await eventually(async () => {
      const answer = await this.rest(0, ['GET', `/mailboxes/${id}`]);
      const { state } = answer.body as { state: string };
      if (state !== 'connected') throw new Error(`the mailbox is ${state}`);
    });
    return id;
  }

  /** Restarts the stores after they were killed. */
  async restartStores(): Promise<void> {
    this.stores = await GatewayProcess.start({ env: this.#storeSettings });
  }

  /** Ends everything and removes the folder. */
  async remove(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.kill()));
    await this.stores.stop();
    await stopOrphan(join(this.dataDir, 'postgres/cluster'), silentLog);
    await rm(this.dataDir, { recursive: true, force: true });
  }

  #replica(index: number): GatewayProcess {
    const replica = this.replicas[index];
    if (!replica) throw new Error(`there is no replica ${String(index)}`);
    return replica;
  }
}

const replicaSettings = (dataDir: string, own: Settings = {}): Settings => ({
  ROLES: 'api,projector,mail',
  DATA_DIR: dataDir,
  BASE_URL,
  PORT: '0',
  EGRESS_ALLOW_MAIL: '127.0.0.0/8:*',
  ...UNLIMITED,
  ...own,
});

/** As the admin command does, on the stores of the running process. */
async function bootstrap(env: Settings): Promise<Tokens> {
  await using core = await openForAdmin(loadConfig(env), silentLog);
  const email = 'owner@example.com';
  const given = { org: 'Replicas', email, name: email, passwordFile: undefined };
  return JSON.parse(await bootstrapCommand(core.ports, given)) as Tokens;
}
