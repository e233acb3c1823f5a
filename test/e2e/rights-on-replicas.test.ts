import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { openForAdmin } from '../../infra/admin/open-for-command.ts';
import { personCommand } from '../../infra/admin/person-command.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { openEventStore } from '../../infra/event-store/event-store-client.ts';
import { loadConfig } from '../../infra/process/config.ts';
import { readRunFile } from '../../infra/process/run-file.ts';
import { freezableProxy, type FreezableProxy } from '../contract/event-store/freezable-proxy.ts';
import { atPort } from '../support/models/crashed-run.ts';
import { happened, sampleAuthor } from '../support/samples/event-author.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { callOf, helloOf } from '../support/worlds/mcp/raw-mcp.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { runCommand } from '../support/servers/run-command.ts';
import { PERSON_PASSWORD, type SignedInPerson, signInWith } from '../support/worlds/sign-in.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';

/** A change made on one replica holds on every other within this time, or that one answers no more. */
const WITHIN_MS = 1_000;
/** Watched for so much longer. */
const WATCHED_MS = 1_000;
/** Half a second where no process waits for a processor. */
const ANNOUNCED_MS = 15_000;
const REVISION = '2025-06-18';

/** What an answer of the other replica shows: the rights before the change, those after it, or that it does not know. */
type Shown = 'before' | 'after' | 'closed' | 'something else';

interface Seen {
  readonly status: number;
  readonly shown: Shown;
}

interface Change {
  readonly name: string;
  /** Resolves when the change was answered, or announced to every replica. */
  make(): Promise<unknown>;
  ask(): Promise<Seen>;
}

interface Fault {
  readonly name: string;
  strike(): void;
  heal(): void | Promise<void>;
}

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

describe('a change of rights on one replica', function () {
  this.timeout(120_000);
  let set: ReplicaSet;
  let storeProxy: FreezableProxy;
  let databaseProxy: FreezableProxy;

  before(async () => {
    set = await ReplicaSet.start({}, async ({ eventstore_url, database_url }) => {
      storeProxy = await freezableProxy(Number(new URL(eventstore_url).port));
      const database = new URL(database_url);
      databaseProxy = await freezableProxy(Number(database.port));
      database.port = String(databaseProxy.port);
      return [
        {},
        {
          EVENTSTORE_URL: atPort(eventstore_url, storeProxy.port),
          DATABASE_URL: database.href,
        },
      ];
    });
    const args = ['person', 'reset', 'owner@example.com'];
    const { stdout } = await runCommand('infra/admin/admin.ts', args, set.settings());
    const [, token] = /#reset=(\S+)/.exec(stdout) ?? [];
    await set.rest(0, ['POST', '/auth/password/reset', { token, password: PERSON_PASSWORD }]);
  });

  after(async () => {
    await set.remove();
    await Promise.all([storeProxy.close(), databaseProxy.close()]);
  });

  /** As the owner on the first replica, asked again while that one lacks the time to look after itself. */
  const onFirst = (method: string, path: string, body?: unknown) =>
    eventually(async () => {
      const answer = await set.rest(0, [method, path, body]);
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
      return answer.body as Record<string, string>;
    });

  const issue = async (principal: string, surface: 'rest' | 'mcp') => {
    const scopes = ['messages:read', 'folders:read', 'mailboxes:read'];
    const request = { name: 'Watched', principal_id: principal, surface, scopes, expires_at: inAnHour() };
    const { id = '', token = '' } = await onFirst('POST', '/tokens', request);
    return { id, token };
  };

  /** Only a success shows the old rights: another failure tells nothing of them. */
  const seenIn = (status: number, isAfter: boolean, isBefore = status === 200): Seen => {
    if (status === 503) return { status, shown: 'closed' };
    if (isAfter) return { status, shown: 'after' };
    return { status, shown: isBefore ? 'before' : 'something else' };
  };

  /** What the second replica tells the bearer of itself; `isAfter` judges an answer that tells anything. */
  const identity = async (
    token: string,
    isAfter: (mailboxes: ReadonlyMap<string, readonly string[]>) => boolean,
  ): Promise<Seen> => {
    const { status, body } = await set.rest(1, ['GET', '/identity'], { token });
    if (status === 503) expect(body.error).to.include({ code: 'store_unavailable', retryable: true });
    if (status !== 200) return seenIn(status, status === 401);
    const mailboxes = body.mailboxes as { id: string; scopes: string[] }[];
    return seenIn(status, isAfter(new Map(mailboxes.map(({ id, scopes }) => [id, scopes]))));
  };

  const addMailbox = async (agentId: string): Promise<{ id: string; grant: string }> => {
    const nowhere = { host: '127.0.0.1', port: 1, security: 'none' };
    const auth = { type: 'password', username: 'nobody', password: 'nothing' };
    const mailbox = { email: 'rights@example.com', imap: nowhere, smtp: nowhere, auth };
    const { id = '' } = await onFirst('POST', '/mailboxes', mailbox);
    const terms = { principal_id: agentId, scopes: ['messages:read', 'folders:read'] };
    const { id: grant = '' } = await onFirst('POST', `/mailboxes/${id}/grants`, terms);
    return { id, grant };
  };

  const revokedSession = async (agentId: string): Promise<Change> => {
    const { id, token } = await issue(agentId, 'mcp');
    const hello = await eventually(async () => {
      const answer = await set.mcp(1, { bearer: token, body: helloOf(REVISION) });
      if (answer.status !== 200) throw new Error(answer.text);
      return answer;
    });
    const session = hello.headers.get('mcp-session-id') ?? '';
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': REVISION };
    return {
      name: 'the token of an open MCP session revoked',
      make: () => onFirst('DELETE', `/tokens/${id}`),
      ask: async () => {
        const { status, body } = await set.mcp(1, { bearer: token, body: callOf('get_identity'), headers });
        const { result } = (body ?? {}) as { result?: { isError?: boolean } };
        return seenIn(status, status === 401, result !== undefined && result.isError !== true);
      },
    };
  };

  /** A session, and a token made from it: both end with the one. */
  const endedSession = async (): Promise<readonly Change[]> => {
    const owner = await eventually(() => signInWith(set.replicas[0]?.address ?? '', 'owner@example.com'));
    const audience = 'http://gateway.example/api/v1';
    const made = await owner.rest('POST', '/auth/session/token', { audience });
    const asks = {
      'a session ended': owner.bearer,
      'a token of it ended with it': made.body.token as string,
    };
    return Object.entries(asks).map(([name, bearer]) => ({
      name,
      make: () => owner.rest('POST', '/auth/logout'),
      ask: () => identity(bearer, () => false),
    }));
  };

  let newcomers = 0;

  /** A new person in a session, added as the admin command does, without a process for each. */
  const newcomer = async (role: 'admin' | 'member'): Promise<SignedInPerson> => {
    newcomers += 1;
    const email = `newcomer${String(newcomers)}@example.com`;
    await using core = await openForAdmin(loadConfig(set.settings()), silentLog);
    const person = { verb: 'add', email, role, name: undefined, org: undefined };
    const [, token] = /#reset=(\S+)/.exec(await personCommand(core.ports, person)) ?? [];
    await onFirst('POST', '/auth/password/reset', { token, password: PERSON_PASSWORD });
    return await eventually(() => signInWith(set.replicas[0]?.address ?? '', email));
  };

  /** A membership and a role that an owner takes. */
  const takenByOwner = async (): Promise<readonly Change[]> => {
    const owner = await eventually(() => signInWith(set.replicas[0]?.address ?? '', 'owner@example.com'));
    const [removed, lowered] = [await newcomer('member'), await newcomer('admin')];
    const done = async (method: string, person: SignedInPerson, body?: unknown): Promise<void> => {
      const { status, body: told } = await owner.rest(method, `/members/${person.userId}`, body);
      if (status >= 300) throw new Error(JSON.stringify(told));
    };
    return [
      {
        name: 'a member removed',
        make: () => done('DELETE', removed),
        ask: () => identity(removed.bearer, () => false),
      },
      {
        name: 'a role lowered by an owner',
        make: () => done('PATCH', lowered, { role: 'member' }),
        ask: async () => {
          const { status } = await set.rest(1, ['GET', '/members?limit=1'], { token: lowered.bearer });
          return seenIn(status, status === 403);
        },
      },
    ];
  };

  /** As a process leaves it that dies before its answer: the event is stored, and nobody was told. Its position. */
  const appendRole = async (role: 'owner' | 'member'): Promise<bigint> => {
    const store = openEventStore({ url: readRunFile(set.dataDir)?.eventstore_url ?? '', log: silentLog });
    const { org_id: orgId, user_id } = set.tokens;
    const fact = { type: 'MemberRoleChanged', data: { user_id, role } } as const;
    const { position } = await happened(store, `organisation-${orgId}`, [fact], sampleAuthor(orgId));
    await store.close();
    return position;
  };

  /** Resolves when a replica that saw the change has announced it, which is what the others learn it from. */
  const announced = async (position: bigint): Promise<void> => {
    const client = await openDirectConnection(readRunFile(set.dataDir)?.database_url ?? '', 'gateway tests');
    try {
      await eventually(async () => {
        const { rows } = await client.query<{ position: string }>('select position from work.authz_epoch');
        if (BigInt(rows[0]?.position ?? -1) < position) throw new Error('nobody announced it');
      }, ANNOUNCED_MS);
    } finally {
      await client.end();
    }
  };

  /** As a person sets it on the machine: a process of its own, which ends when it has been answered. */
  const policySet = (agentId: string, token: string, mailboxId: string): Change => ({
    name: 'a policy set',
    make: async () => {
      const file = join(set.dataDir, 'policy.json');
      const when = { principal_ids: [agentId], actions: ['move'] };
      await writeFile(
        file,
        JSON.stringify({ rules: [{ id: 'watched', when, then: { decision: 'require' } }] }),
      );
      const { code, stderr } = await runCommand('infra/admin/admin.ts', ['policy', file], set.settings());
      if (code !== 0) throw new Error(stderr);
    },
    ask: async () => {
      const { status, body } = await set.rest(1, ['GET', '/identity'], { token });
      const mailboxes = (body.mailboxes ?? []) as { id: string; requires_approval: string[] }[];
      const needed = mailboxes.find(({ id }) => id === mailboxId)?.requires_approval;
      return seenIn(status, needed?.includes('move') === true, needed !== undefined);
    },
  });

  const changes = async (): Promise<readonly Change[]> => {
    const { id: agentId = '' } = await onFirst('POST', '/agents', { name: 'Watched' });
    const revoked = await issue(agentId, 'rest');
    const { token } = await issue(agentId, 'rest');
    const [lent, narrowed, removed, ruled] = [
      await addMailbox(agentId),
      await addMailbox(agentId),
      await addMailbox(agentId),
      await addMailbox(agentId),
    ];
    return [
      {
        name: 'a token revoked',
        make: () => onFirst('DELETE', `/tokens/${revoked.id}`),
        ask: () => identity(revoked.token, () => false),
      },
      await revokedSession(agentId),
      ...(await endedSession()),
      ...(await takenByOwner()),
      {
        name: 'a grant taken back',
        make: () => onFirst('DELETE', `/mailboxes/${lent.id}/grants/${lent.grant}`),
        ask: () => identity(token, (mailboxes) => !mailboxes.has(lent.id)),
      },
      {
        name: 'a grant made narrower',
        make: () =>
          onFirst('PATCH', `/mailboxes/${narrowed.id}/grants/${narrowed.grant}`, {
            scopes: ['folders:read'],
          }),
        ask: () =>
          identity(token, (mailboxes) => mailboxes.get(narrowed.id)?.includes('messages:read') === false),
      },
      {
        name: 'a mailbox removed',
        make: () => onFirst('DELETE', `/mailboxes/${removed.id}`),
        ask: () => identity(token, (mailboxes) => !mailboxes.has(removed.id)),
      },
      policySet(agentId, token, ruled.id),
    ];
  };

  const loweredRole: Change = {
    name: 'a role lowered',
    make: async () => {
      await announced(await appendRole('member'));
    },
    ask: async () => {
      const { status } = await set.rest(1, ['GET', '/agents?limit=1']);
      return seenIn(status, status === 403);
    },
  };

  const cutOff = (): void => {
    storeProxy.freeze('all');
    databaseProxy.freeze('all');
  };
  const reconnect = (): void => {
    storeProxy.thaw();
    databaseProxy.thaw();
  };
  const stop = (): void => set.replicas[1]?.freeze();
  const wake = (): void => set.replicas[1]?.wake();

  const faults: readonly Fault[] = [
    { name: 'is healthy', strike: () => undefined, heal: () => undefined },
    {
      name: 'receives nothing from the event store',
      strike: () => {
        storeProxy.freeze('all');
      },
      heal: () => {
        storeProxy.thaw();
      },
    },
    {
      name: 'cannot read Postgres',
      strike: () => {
        databaseProxy.freeze('all');
      },
      heal: () => {
        databaseProxy.thaw();
      },
    },
    { name: 'receives nothing from either store', strike: cutOff, heal: reconnect },
    { name: 'is paused and resumed', strike: stop, heal: wake },
    {
      name: 'is paused and resumed without stores',
      strike: () => {
        cutOff();
        stop();
      },
      heal: async () => {
        wake();
        // What waited for it is answered before it can learn anything.
        await delay(500);
        reconnect();
      },
    },
  ];

  const observe = async (watched: readonly Change[], fault: Fault): Promise<void> => {
    const all = async (wanted: Shown): Promise<void> => {
      const seen = await Promise.all(watched.map((change) => change.ask()));
      if (seen.some(({ shown }) => shown !== wanted)) throw new Error(JSON.stringify(seen));
    };
    await eventually(() => all('before'));
    fault.strike();
    const answeredAt = new Map<Change, number>();
    for (const change of watched) {
      await change.make();
      answeredAt.set(change, performance.now());
    }
    const asked: Promise<Seen & { change: Change; at: number; tookMs: number }>[] = [];
    const until = performance.now() + WITHIN_MS + WATCHED_MS;
    while (performance.now() < until) {
      for (const change of watched) {
        const at = performance.now();
        asked.push(change.ask().then((seen) => ({ ...seen, change, at, tookMs: performance.now() - at })));
      }
      await delay(100);
    }
    await fault.heal();
    const answers = await Promise.all(asked);
    const afterMs = ({ change, at }: { change: Change; at: number }): number =>
      at - (answeredAt.get(change) ?? 0);
    const told = (which: typeof answers): readonly string[] =>
      which.map((answer) => {
        const [asked, took] = [afterMs(answer).toFixed(0), answer.tookMs.toFixed(0)];
        return `${answer.change.name}: ${String(answer.status)}, asked after ${asked} ms, answered in ${took} ms`;
      });
    const unexpected = answers.filter(({ shown }) => shown === 'something else');
    expect(told(unexpected), 'answers that show neither rights nor 503').to.deep.equal([]);
    const late = answers.filter((answer) => afterMs(answer) > WITHIN_MS);
    expect(late.length).to.be.greaterThan(watched.length);
    const outdated = late.filter(({ shown }) => shown === 'before');
    expect(told(outdated), 'late answers that show the old rights').to.deep.equal([]);
    await eventually(() => all('after'));
  };

  for (const fault of faults) {
    it(`applies on a replica that ${fault.name}, or that replica stops answering ${verifies('contract:2:revocation')}`, async () => {
      await observe(await changes(), fault);
    });
  }

  it('applies on a replica that receives no events although the writer died before the answer', async () => {
    const [, deaf] = faults;
    if (deaf) await observe([loweredRole], deaf);
    await appendRole('owner');
  });
});
