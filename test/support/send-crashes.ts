/**
 * Crashes a send, or the filing of its Sent copy, at any point, starts again, and gathers what happened: the log, what the
 * submission server accepted, what lies in Sent, and what the client was told.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callerOf } from '../../commands/kernel/access.ts';
import { GatewayError } from '../../commands/kernel/errors.ts';
import { invokeCapability } from '../../commands/kernel/invoke-capability.ts';
import { appendFacts, loadAggregate, streamOf } from '../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import { systemAuthor } from '../../commands/kernel/system-author.ts';
import { draft } from '../../commands/drafts/draft.ts';
import { freezeDraft } from '../../commands/drafts/freeze-draft.ts';
import { fileSentCopy, type UnfiledCopy } from '../../commands/drafts/sending/file-sent-copy.ts';
import { sendDraftCapability } from '../../commands/drafts/sending/send-draft-capability.ts';
import { settleSend } from '../../commands/drafts/sending/settle-send.ts';
import { loadMasterKey } from '../../infra/security/key-file.ts';
import { CrashLine, type CrashPoint, type Passed } from './crash-line.ts';
import { behindTheLine, endLeasesOf, placeOf } from './crashed-run.ts';
import type { TestDovecot } from './dovecot.ts';
import { eventually } from './gateway.ts';
import { type GatewayRun, openRun, type RunHome } from './gateway-run.ts';
import { ScriptedSmtp } from './scripted-smtp.ts';
import type { SendWitness, ToldSend } from './send-invariants.ts';
import { SendingWorld } from './sending-world.ts';

/** What crashes: the request, or the filing of the copy after it. */
export type CrashedWork = 'send' | 'file_copy';

interface Scene {
  readonly draftId: string;
  readonly subject: string;
  readonly key: string;
}

const MET_WITHIN_MS = 10_000;
const SETTLED_WITHIN_MS = 20_000;

export class SendCrashes {
  readonly #world: SendingWorld;
  readonly #server: ScriptedSmtp;
  readonly #home: RunHome;
  readonly #folder: string;

  private constructor(world: SendingWorld, server: ScriptedSmtp, home: RunHome, folder: string) {
    this.#world = world;
    this.#server = server;
    this.#home = home;
    this.#folder = folder;
  }

  /** A gateway that set everything up and stays, as other processes would; it works on no mailbox itself. */
  static async open(dovecot: TestDovecot): Promise<SendCrashes> {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-send-crash-'));
    const keyFile = join(folder, 'master.key');
    const server = await ScriptedSmtp.start();
    const world = await SendingWorld.open(dovecot, server.port, {
      KEY_FILE: keyFile,
      SEND_JUDGE_AFTER_SECONDS: '1',
    });
    const { databaseUrl, eventStoreUrl, ports: shared } = world.gateway.gateway;
    const masterKey = await loadMasterKey(keyFile, { mayMake: false });
    const imapPort = dovecot.imap().port;
    const home = { databaseUrl, eventStoreUrl, imapPort, smtpPort: server.port, masterKey, shared };
    return new SendCrashes(world, server, home, folder);
  }

  async close(): Promise<void> {
    await this.#world.stop();
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Every message that the work sends to its stores and servers, in order, when nothing crashes. */
  async rehearse(work: CrashedWork): Promise<readonly Passed[]> {
    const scene = await this.#arrange(work);
    const line = await this.#openLine();
    const run = openRun({ ...behindTheLine(this.#home, line), smtpPort: line.portOf('smtp') });
    try {
      line.record();
      await this.#work(run, work, scene);
      await eventually(async () => {
        if ((await this.#home.shared.leases.holder(this.#operationId(scene))) !== null)
          throw new Error('held');
      });
      return [...line.passed];
    } finally {
      await run.close();
      await line.close();
    }
  }

  /** Crashes at the point, starts again, goes on until it is settled, repeats the request twice, and looks. */
  async crash(work: CrashedWork, point: CrashPoint): Promise<SendWitness> {
    const scene = await this.#arrange(work);
    const told: ToldSend[] = [];
    await this.#crashOnce(work, scene, point, told);
    const acceptedAtCrash = this.#accepted(scene);
    const eventsAtCrash = await this.#events(scene);
    const restarted = openRun(this.#home);
    try {
      if (work === 'send') {
        told.push(await this.#settle(restarted, scene));
        told.push(await this.#request(restarted, scene));
      }
      await this.#fileCopy(restarted, scene);
    } finally {
      await restarted.close();
    }
    return {
      events: await this.#events(scene),
      accepted: this.#accepted(scene),
      copies: (await this.#world.copies('anna', 'Sent', scene.subject)).length,
      told,
      atCrash: { events: eventsAtCrash, accepted: acceptedAtCrash },
    };
  }

  async #crashOnce(work: CrashedWork, scene: Scene, point: CrashPoint, told: ToldSend[]): Promise<void> {
    const line = await this.#openLine();
    const doomed = openRun({ ...behindTheLine(this.#home, line), smtpPort: line.portOf('smtp') });
    const crash = { isOver: false };
    const met = line.crashAt(point, () => {
      crash.isOver = true;
    });
    const ended = this.#work(doomed, work, scene).then(
      (answer) => {
        if (!crash.isOver && answer !== null) told.push(answer);
      },
      (error: unknown) => {
        if (!crash.isOver) throw error;
      },
    );
    try {
      const inTime = await Promise.race([
        met.then(() => true),
        late(),
        ended.then(() => met.then(() => true)),
      ]);
      if (!inTime) throw new Error(`not met: ${JSON.stringify(point)}`);
    } finally {
      await doomed.close();
      await line.close();
      await ended;
    }
    await endLeasesOf(this.#home.shared.sql, doomed.ports.leases.runId);
  }

  #work(run: GatewayRun, work: CrashedWork, scene: Scene): Promise<ToldSend | null> {
    if (work === 'send') return this.#request(run, scene);
    return fileSentCopy(unwaiting(run.ports), this.#unfiled(scene)).then(() => null);
  }

  async #arrange(work: CrashedWork): Promise<Scene> {
    const { id, subject } = await this.#world.draft();
    const scene = { draftId: id, subject, key: randomUUID() };
    if (work === 'file_copy') await this.#sent(scene);
    return scene;
  }

  /** As after a send; without its operation no worker of the gateway takes it up. */
  async #sent(scene: Scene): Promise<void> {
    const { shared: ports } = this.#home;
    const { state, revision } = await loadAggregate(ports.events, draft, scene.draftId);
    const mailbox = ports.directory.state.mailboxes.get(this.#world.mailboxId);
    if (!mailbox) throw new Error('no mailbox');
    const operationId = this.#operationId(scene);
    const frozen = await freezeDraft(ports, { draftId: scene.draftId, operationId, mailbox, state });
    const sent = { operation_id: operationId, attempt: 1 };
    await appendFacts(ports, systemAuthor(ports, mailbox.orgId), {
      stream: streamOf(draft, scene.draftId),
      expected: revision,
      catalogue: draft.catalogue,
      facts: [
        { type: 'DraftFrozen', data: frozen },
        {
          type: 'SendStarted',
          data: { ...sent, content_hash: frozen.content_hash, run_id: 'run', date: frozen.frozen_at },
        },
        { type: 'SendDataBegun', data: { ...sent, rejected: [] } },
        {
          type: 'DraftSent',
          data: { ...sent, message_id: frozen.message_id, response: null, rejected: [], known_by: 'server' },
        },
      ],
    });
  }

  /** Repeats the request until it is answered for good; unknown is an answer. */
  #settle(run: GatewayRun, scene: Scene): Promise<ToldSend> {
    const operationId = this.#operationId(scene);
    return eventually(async () => {
      await settleSend(run.ports, { operationId, orgId: null });
      const answer = await this.#request(run, scene);
      if (answer.code === 'idempotency_in_progress' || answer.code === 'provider_timeout')
        throw new Error(answer.code);
      return answer;
    }, SETTLED_WITHIN_MS);
  }

  async #fileCopy({ ports }: GatewayRun, scene: Scene): Promise<void> {
    await eventually(async () => {
      if (!(await fileSentCopy(unwaiting(ports), this.#unfiled(scene)))) throw new Error('not filed');
    });
  }

  #unfiled(scene: Scene): UnfiledCopy {
    const { draftId } = scene;
    return { operationId: this.#operationId(scene), orgId: null, draftId, lastFiledBy: 'gateway' };
  }

  async #request({ ports }: GatewayRun, { draftId, key }: Scene): Promise<ToldSend> {
    const hash = ports.tokens.hashRestToken(this.#world.gateway.tokens.restToken);
    const { state } = ports.directory;
    const token = [...state.tokens.values()].find(({ secretHash }) => secretHash === hash);
    const caller = token && callerOf(state, token, ports.clock.now());
    if (!caller) throw new Error('no caller');
    try {
      await invokeCapability({
        capability: sendDraftCapability,
        input: { draft_id: draftId },
        caller,
        client: null,
        registry: [],
        ports,
        request: {
          id: randomUUID(),
          surface: 'rest',
          idempotencyKey: key,
          ifMatch: null,
          ifPosition: null,
          mcpSessionId: null,
        },
      });
      return { code: 'completed' };
    } catch (error) {
      if (error instanceof GatewayError) return { code: error.code };
      throw error;
    }
  }

  #operationId({ key }: Scene): string {
    const { orgId, userId } = this.#world.gateway.tokens;
    return this.#home.shared.ids.idForKey('opn', orgId, userId, key);
  }

  async #events(scene: Scene): Promise<SendWitness['events']> {
    const { events } = this.#home.shared;
    const streams = [`operation-${this.#operationId(scene)}`, `draft-${scene.draftId}`];
    const stored = await Promise.all(streams.map((stream) => events.readStream(stream)));
    return stored.flat();
  }

  #accepted({ subject }: Scene): number {
    return this.#server.accepted.filter(({ raw }) => raw.includes(subject)).length;
  }

  #openLine(): Promise<CrashLine> {
    const { databaseUrl, eventStoreUrl, imapPort } = this.#home;
    return CrashLine.open({
      postgres: placeOf(databaseUrl),
      events: placeOf(eventStoreUrl),
      imap: { host: '127.0.0.1', port: imapPort },
      smtp: { host: '127.0.0.1', port: this.#server.port },
    });
  }
}

/** The scripted server files no copies, so none is waited for. */
const unwaiting = (ports: Ports): Ports => ({
  ...ports,
  server: { ...ports.server, sendTimes: { ...ports.server.sendTimes, ownCopyWithinMs: 0 } },
});

const late = (): Promise<false> =>
  new Promise((resolve) => {
    setTimeout(() => {
      resolve(false);
    }, MET_WITHIN_MS).unref();
  });
