/** kill -9 of a replica while applications connect, each at another step; they go on at the other replica, or begin again. */
import { performance } from 'node:perf_hooks';
import { expect } from 'chai';
import type { StoredEvent } from '../../commands/values/event.ts';
import { type ConnectedEventStore, openEventStore } from '../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { readRunFile, type RunFacts } from '../../infra/process/run-file.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { wholeLog } from '../support/samples/whole-log.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';
import { type Answer, callRest, eventually } from '../support/worlds/gateway.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { ConnectionWalk, STEPS, type WalkKind } from '../support/worlds/oauth/connection-walk.ts';
import { KilledAmid } from '../support/worlds/oauth/killed-amid.ts';
import { OAuthClient } from '../support/worlds/oauth/oauth-client.ts';
import type { Deciding } from '../support/worlds/oauth/person-deciding.ts';
import { BASE_URL, ReplicaSet } from '../support/worlds/replica-set.ts';
import { PERSON_PASSWORD, signInWith } from '../support/worlds/sign-in.ts';

const ROUNDS = timesOf(3, 100);
/** What a kill changed is known to the other replica, and to its successor, within this time. */
const WITHIN_MS = 2_000;
const SETTINGS = { ROLES: 'api,projector', OAUTH_DCR: 'on' };
const KINDS: readonly WalkKind[] = ['dynamic', 'registered'];

interface Found {
  readonly log: readonly StoredEvent[];
  /** Grants in the log, and those of them that ended. */
  readonly given: ReadonlySet<string>;
  readonly ended: ReadonlySet<string>;
}

describe('two replicas of which one is killed while applications connect', function () {
  this.timeout(timesOf(120_000, 50 * 60_000));
  let set: ReplicaSet;
  let facts: RunFacts;
  let events: ConnectedEventStore;
  let log: readonly StoredEvent[] = [];
  const processes: GatewayProcess[] = [];

  before(async () => {
    set = await ReplicaSet.start({}, () => [SETTINGS, SETTINGS]);
    processes.push(...set.replicas);
    const found = readRunFile(set.dataDir);
    if (found === null) throw new Error('no run file');
    facts = found;
    events = openEventStore({ url: facts.eventstore_url, log: silentLog });
    const token = set.tokens.password_link.split('#reset=')[1];
    const reset = await set.rest(0, ['POST', '/auth/password/reset', { token, password: PERSON_PASSWORD }]);
    expect(reset.status).to.equal(204);
  });
  after(async () => {
    await Promise.all(processes.map((each) => each.kill()));
    await events.close();
    await set.remove();
  });

  const at = (index: number): GatewayProcess => {
    const found = processes[index % 2];
    if (!found) throw new Error('there are two replicas');
    return found;
  };

  const rows = async (): Promise<readonly { model: string; grant_id: string; rotation: number | null }[]> => {
    const connection = await openDirectConnection(facts.database_url, 'gateway tests');
    try {
      return (
        await connection.query(
          'select model, grant_id, rotation from vault.oauth_state where grant_id is not null',
        )
      ).rows as never;
    } finally {
      await connection.end();
    }
  };

  const readLog = async (): Promise<Found> => {
    log = await wholeLog(events, log);
    const subjects = (type: string): ReadonlySet<string> =>
      new Set(
        log
          .filter((each) => each.type === type)
          .map(({ streamName }) => streamName.replace('oauthGrant-', '')),
      );
    return { log, given: subjects('OAuthGrantGiven'), ended: subjects('OAuthGrantEnded') };
  };

  /** All that is stored belongs to a grant in the log, and each refresh token has its own event. */
  const expectNoTokenWithoutEvents = async (): Promise<void> => {
    const stored = await rows();
    const { log: whole, given } = await readLog();
    const rotated = new Set(
      whole
        .filter(({ type }) => type === 'RefreshTokenRotated')
        .map(({ data }) => `${String(data['grant_id'])} ${String(data['rotation'])}`),
    );
    for (const { model, grant_id: id, rotation } of stored) {
      expect(given.has(id), `the log has ${id} of a ${model}`).to.equal(true);
      if (model === 'RefreshToken')
        expect(rotated.has(`${id} ${String(rotation)}`), `rotation ${String(rotation)} of ${id}`).to.equal(
          true,
        );
    }
  };

  const asOwner = (process: GatewayProcess, owner: Deciding, method: string, path: string): Promise<Answer> =>
    callRest(process.address, [method, path], { token: owner.bearer });

  const listed = async (process: GatewayProcess, owner: Deciding): Promise<readonly string[]> => {
    const { body } = await asOwner(process, owner, 'GET', '/org/connected-applications?limit=100');
    return (body.items as { id: string }[]).map(({ id }) => id);
  };

  /** What is not over is what the person sees, and can be ended on both; then no token is good anywhere. */
  const endAll = async (
    owner: Deciding,
    walks: readonly ConnectionWalk[],
    living: number,
  ): Promise<number> => {
    const { given, ended } = await readLog();
    const open = [...given].filter((id) => !ended.has(id));
    await eventually(async () => {
      expect(await listed(at(living), owner), 'what the person sees').to.have.members(open);
    }, WITHIN_MS);
    for (const id of open) {
      const answer = await asOwner(at(living), owner, 'DELETE', `/org/connected-applications/${id}`);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(204);
    }
    expect(await rows(), 'codes and refresh tokens of what is over').to.deep.equal([]);
    for (const process of processes) {
      await eventually(async () => {
        for (const { token, grantId } of walks.flatMap(({ held }) => held)) {
          expect(given.has(grantId), `the grant of an access token is in the log`).to.equal(true);
          const client = new OAuthClient(process.address, { issuer: BASE_URL });
          expect((await client.mcp(token)).status, `a token of ${grantId}`).to.equal(401);
        }
      }, WITHIN_MS);
    }
    return open.length;
  };

  interface Round {
    readonly victim: number;
    readonly afterMs: number | null;
    readonly kind: WalkKind;
  }

  /** As many applications as there are steps: each stands before its own, then all take it at once. */
  const play = async ({ victim, afterMs, kind }: Round) => {
    const { bearer } = await signInWith(at(victim + 1).address, 'owner@example.com');
    const owner = { bearer, orgId: set.tokens.org_id };
    const options = { victim: at(victim), living: at(victim + 1), clients: STEPS.length };
    const kill = new KilledAmid({ ...options, afterMs });
    const walks = STEPS.map((stopsAt) => new ConnectionWalk({ kill, owner, kind, stopsAt }));
    const began = performance.now();
    await Promise.all(walks.map((walk) => walk.finish()));
    const tookMs = performance.now() - (walks[0]?.metAt ?? began);
    await expectNoTokenWithoutEvents();
    if (afterMs !== null) {
      const next = GatewayProcess.spawn({ env: set.settings(SETTINGS) });
      await next.ready();
      processes[victim % 2] = next;
    }
    const left = await endAll(owner, walks, victim + 1);
    return { lost: kill.lost, left, again: walks.filter(({ attempts }) => attempts > 1).length, tookMs };
  };

  it(`loses no grant and no token, whatever step it dies at ${verifies('contract:18:oauth-tokens', 'contract:20:oauth-own-grants')}`, async () => {
    const { tookMs } = await play({ victim: 0, afterMs: null, kind: 'dynamic' });
    let [lost, again, left] = [0, 0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      const afterMs = (tookMs * round) / ROUNDS;
      const told = await play({ victim: round, afterMs, kind: KINDS[(round >> 1) % 2] ?? 'dynamic' });
      lost += told.lost;
      again += told.again;
      left += told.left;
    }
    figure(
      `${String(ROUNDS)} replicas killed amid ${String(ROUNDS * STEPS.length)} connections: ${String(lost)} answers lost, ${String(again)} connections begun again, ${String(left)} left and ended by the person`,
    );
    expect(lost).to.be.at.least(STEPS.length);
  });
});
