/**
 * Crashes an archive at any point, restarts, and gathers the results: the log, the mailbox, the client's
 * answers. One Postgres, event node and Dovecot serve all points; only a run of the gateway crashes.
 */
import { randomUUID } from 'node:crypto';
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { OperationReply } from '../../../commands/operations/operation.ts';
import { settleOperation, type Unsettled } from '../../../commands/messages/reconcile-operation.ts';
import { loadMasterKey } from '../../../infra/security/key-file.ts';
import { listUnsettledOperations } from '../../../projections/operations.ts';
import { CrashLine, type CrashPoint, type Passed } from './crash-line.ts';
import { crashRun, type CrashStage, watchRun } from './crash-run.ts';
import { behindTheLine, placeOf } from './crashed-run.ts';
import type { TestDovecot } from '../servers/dovecot.ts';
import { eventually, startTestGateway, type TestGateway } from '../worlds/gateway.ts';
import { type GatewayRun, openRun, type RunHome } from '../worlds/gateway-run.ts';
import type { ToldAnswer, WatchedMessage, Witness } from './log-invariants.ts';
import { WatchedMailbox } from '../servers/watched-mailbox.ts';
import { wholeLog } from '../samples/whole-log.ts';
import { invokeAs } from '../worlds/invoke-as.ts';
import { clientOf } from '../worlds/send-requests.ts';

export interface Scenario {
  readonly title: string;
  /** One message per entry, in this folder. */
  readonly folders: readonly string[];
  /** False leaves the messages without a Message-ID, so that a moved one cannot be found again. */
  readonly withMessageId: boolean;
}

/** Messages that have arrived, and the request for them. */
interface Scene {
  readonly key: string;
  readonly messages: readonly { readonly id: string; readonly subject: string; readonly source: string }[];
}

const DESTINATION = 'Archive';
const USER = 'anna';

export class CrashWorld {
  readonly #gateway: TestGateway;
  readonly #watched: WatchedMailbox;
  readonly #home: RunHome;
  readonly #mailboxId: string;
  readonly #stage: CrashStage;
  /** The log read so far. It only grows, so each point reads only the new part. */
  #log: readonly StoredEvent[] = [];

  private constructor(gateway: TestGateway, watched: WatchedMailbox, home: RunHome, mailboxId: string) {
    this.#gateway = gateway;
    this.#watched = watched;
    this.#home = home;
    this.#mailboxId = mailboxId;
    const { databaseUrl, eventStoreUrl, imapPort } = home;
    const places = {
      postgres: placeOf(databaseUrl),
      events: placeOf(eventStoreUrl),
      imap: { host: '127.0.0.1', port: imapPort },
    };
    this.#stage = {
      home,
      openLine: () => CrashLine.open(places),
      behind: (line) => behindTheLine(home, line),
    };
  }

  /** A gateway that set everything up and keeps running: the projector and directory of other processes. */
  static async open(dovecot: TestDovecot, keyFile: string): Promise<CrashWorld> {
    const watched = await WatchedMailbox.open(dovecot, USER);
    const gateway = await startTestGateway({ env: { KEY_FILE: keyFile } });
    const mailboxId = await gateway.addMailbox(dovecot.imap(), USER);
    const { databaseUrl, eventStoreUrl, ports: shared } = gateway.gateway;
    const masterKey = await loadMasterKey(keyFile, { mayMake: false });
    const home = { databaseUrl, eventStoreUrl, imapPort: dovecot.imap().port, masterKey, shared };
    return new CrashWorld(gateway, watched, home, mailboxId);
  }

  async close(): Promise<void> {
    this.#watched.close();
    await this.#gateway.stop();
  }

  /** Every message of one archive to its stores without a crash, in order. */
  async rehearse(scenario: Scenario): Promise<readonly Passed[]> {
    const scene = await this.#arrange(scenario);
    const { leases, ids } = this.#home.shared;
    const { orgId, userId } = this.#gateway.tokens;
    const operationId = ids.idForKey('opn', orgId, userId, scene.key);
    return await watchRun(
      this.#stage,
      (run) => this.#request(run, scene),
      // The lease is released after the answer.
      async () => {
        await eventually(async () => {
          if ((await leases.holder(operationId)) !== null) throw new Error('still held');
        });
      },
    );
  }

  /** Crashes at the point, restarts, lets the sweeper finish, repeats the request twice, reads the result. */
  async crash(scenario: Scenario, point: CrashPoint): Promise<Witness> {
    const scene = await this.#arrange(scenario);
    const answers = await this.#crashOnce(scene, point);
    const atCrash = { events: await this.#readOn(), messages: await this.#look(scene) };
    const restarted = openRun(this.#home);
    try {
      await this.#sweep(restarted);
      answers.push(await this.#request(restarted, scene));
      answers.push(await this.#request(restarted, scene));
    } finally {
      await restarted.close();
    }
    return {
      events: await this.#readOn(),
      messages: await this.#look(scene),
      answers,
      atCrash,
    };
  }

  /** The number of events that changed their content or place since they were first read. */
  async changedEvents(): Promise<number> {
    const now = await wholeLog(this.#home.shared.events);
    return this.#log.filter(({ id }, index) => now[index]?.id !== id).length;
  }

  async #readOn(): Promise<readonly StoredEvent[]> {
    this.#log = await wholeLog(this.#home.shared.events, this.#log);
    return this.#log;
  }

  async #crashOnce(scene: Scene, point: CrashPoint): Promise<ToldAnswer[]> {
    const answers: ToldAnswer[] = [];
    await crashRun(this.#stage, point, async (run, isOver) => {
      const answer = await this.#request(run, scene);
      if (!isOver()) answers.push(answer);
    });
    return answers;
  }

  async #sweep({ ports }: GatewayRun): Promise<void> {
    await eventually(async () => {
      await this.#home.shared.readModels.waitFor(await ports.events.headPosition(), 1_000);
      for (const each of await this.#unsettled(ports)) {
        // The next pass retries it.
        await settleOperation(ports, each).catch(() => undefined);
      }
      await this.#home.shared.readModels.waitFor(await ports.events.headPosition(), 1_000);
      const open = await ports.sql.query('select id from read.operation where not completed');
      if (open.length > 0) throw new Error('an operation is still open');
    });
    const left = await this.#unsettled(ports);
    this.#unknowable.push(...left.map(({ operationId }) => operationId));
  }

  /** Operations on indistinguishable messages: read once each. */
  readonly #unknowable: string[] = [];

  #unsettled({ sql }: Pick<Ports, 'sql'>): Promise<readonly Unsettled[]> {
    return listUnsettledOperations(sql, { limit: 100, except: this.#unknowable, exceptMailboxes: [] });
  }

  async #request({ ports }: GatewayRun, { key, messages }: Scene): Promise<ToldAnswer> {
    const caller = clientOf(ports, this.#gateway);
    const input = {
      mailbox_id: this.#mailboxId,
      operation: {
        type: 'message_actions',
        select: { message_ids: messages.map(({ id }) => id) },
        actions: [{ type: 'archive' }],
      },
      authorization: { reason: 'It is paid.' },
    };
    const { output } = await invokeAs(ports, caller, [actOnEmail, input], { idempotencyKey: key });
    const { operation_id, results } = output as OperationReply;
    return { operationId: operation_id ?? '', results };
  }

  async #arrange({ folders, withMessageId }: Scenario): Promise<Scene> {
    const { locators, directory } = this.#home.shared;
    const mailbox = directory.state.mailboxes.get(this.#mailboxId);
    const key = randomUUID();
    const messages: Scene['messages'][number][] = [];
    for (const [index, source] of folders.entries()) {
      const subject = `${key} ${String(index)}`;
      const { uid, uidValidity } = await this.#watched.arrive(source, subject, { withMessageId });
      const folder = mailbox?.folders.find(({ path }) => path === source);
      if (!mailbox || !folder) throw new Error(`${source} is not known`);
      const place = { mailboxNumber: mailbox.number, folderNumber: folder.number, uidValidity, uid };
      messages.push({ id: locators.message(place), subject, source });
    }
    return { key, messages };
  }

  async #look({ key, messages }: Scene): Promise<readonly WatchedMessage[]> {
    const found = await this.#watched.copiesOf(key);
    return messages.map(({ id, subject, source }) => ({
      id,
      source,
      destination: DESTINATION,
      places: found.flatMap((copy) => (copy.subject === subject ? [copy.path] : [])),
    }));
  }
}
