/**
 * Crashes a send, or the filing of its Sent copy, at any point, restarts, and gathers the results: the log,
 * the messages the submission server accepted, the Sent folder, and the client's answers.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  appendFacts,
  loadAggregate,
  streamOf,
  systemAuthor,
} from '../../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { draft } from '../../../commands/drafts/draft.ts';
import { freezeDraft } from '../../../commands/sending/freeze-draft.ts';
import { fileSentCopy, type UnfiledCopy } from '../../../commands/sending/sent-copy.ts';
import { settleSend } from '../../../commands/sending/settle-send.ts';
import { loadMasterKey } from '../../../infra/security/key-file.ts';
import { CrashLine, type CrashPoint, type Passed } from './crash-line.ts';
import type { Deciders } from './approval-invariants.ts';
import { crashRun, type CrashStage, watchRun } from './crash-run.ts';
import { behindTheLine, placeOf } from './crashed-run.ts';
import type { TestDovecot } from '../servers/dovecot.ts';
import { eventually } from '../worlds/gateway.ts';
import { type GatewayRun, openRun, type RunHome } from '../worlds/gateway-run.ts';
import { ScriptedSmtp } from '../servers/scripted-smtp.ts';
import type { SendWitness, ToldSend } from './send-invariants.ts';
import { askAndApprove, askToSend, passOver, type Senders } from '../worlds/send-requests.ts';
import { SendingWorld } from '../worlds/sending-world.ts';
import { signInOwner } from '../worlds/sign-in.ts';

/** The crashed work: the request, the request with an approval, or the later filing of the copy. */
export type CrashedWork = 'send' | 'approved_send' | 'file_copy';

/** Sends to it wait for a person, and the vote commits them. */
const APPROVED_DOMAIN = 'approved.example';

interface Scene {
  readonly draftId: string;
  readonly subject: string;
  readonly key: string;
}

const SETTLED_WITHIN_MS = 60_000;

export class SendCrashes {
  readonly #world: SendingWorld;
  readonly #server: ScriptedSmtp;
  readonly #home: RunHome;
  readonly #folder: string;
  readonly #stage: CrashStage;
  readonly #senders: Senders;

  private constructor(
    { world, senders }: { readonly world: SendingWorld; readonly senders: Senders },
    server: ScriptedSmtp,
    home: RunHome,
    folder: string,
  ) {
    this.#world = world;
    this.#senders = senders;
    this.#server = server;
    this.#home = home;
    this.#folder = folder;
    const { databaseUrl, eventStoreUrl, imapPort } = home;
    const places = {
      postgres: placeOf(databaseUrl),
      events: placeOf(eventStoreUrl),
      imap: { host: '127.0.0.1', port: imapPort },
      smtp: { host: '127.0.0.1', port: server.port },
    };
    this.#stage = {
      home,
      openLine: () => CrashLine.open(places),
      behind: (line) => ({ ...behindTheLine(home, line), smtpPort: line.portOf('smtp') }),
    };
  }

  /** A gateway that set everything up and keeps running, as other processes would; it works on no mailbox. */
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
    const owner = await signInOwner(world.gateway);
    const rules = [
      { id: 'needs_approval', when: { recipient_domains: [APPROVED_DOMAIN] }, then: { decision: 'require' } },
      { id: 'people', when: { actors: ['delegated'] }, then: { decision: 'allow' } },
    ];
    const put = await owner.rest('PUT', '/org/policy', { rules });
    if (put.status !== 200) throw new Error(`no policy: ${JSON.stringify(put.body)}`);
    const senders = { gateway: world.gateway, owner };
    return new SendCrashes({ world, senders }, server, home, folder);
  }

  /** The people who may decide approvals here, and the requester. */
  get deciders(): Deciders {
    const { userId } = this.#senders.owner;
    return { roles: { [userId]: 'owner' }, behindId: userId };
  }

  async close(): Promise<void> {
    await this.#world.stop();
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Every message of the work to its stores and servers without a crash, in order. */
  async rehearse(work: CrashedWork): Promise<readonly Passed[]> {
    const scene = await this.#arrange(work);
    return await watchRun(
      this.#stage,
      (run) => this.#work(run, work, scene),
      async () => {
        await eventually(async () => {
          if ((await this.#home.shared.leases.holder(this.#operationId(scene))) !== null)
            throw new Error('held');
        });
      },
    );
  }

  /** Crashes at the point, restarts, continues until settled, repeats the request twice; reads results. */
  async crash(work: CrashedWork, point: CrashPoint): Promise<SendWitness> {
    const scene = await this.#arrange(work);
    const told: ToldSend[] = [];
    await this.#crashOnce(work, scene, point, told);
    const acceptedAtCrash = this.#accepted(scene);
    const eventsAtCrash = await this.#events(scene);
    const restarted = openRun(this.#home);
    try {
      if (work !== 'file_copy') {
        told.push(await this.#settle(restarted, work, scene));
        told.push(await this.#ask(restarted, work, scene));
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
    await crashRun(this.#stage, point, async (run, isOver) => {
      const answer = await this.#work(run, work, scene);
      if (!isOver() && answer !== null) told.push(answer);
    });
  }

  #work(run: GatewayRun, work: CrashedWork, scene: Scene): Promise<ToldSend | null> {
    if (work !== 'file_copy') return this.#ask(run, work, scene);
    return fileSentCopy(unwaiting(run.ports), this.#unfiled(scene)).then(() => null);
  }

  #ask({ ports }: GatewayRun, work: 'send' | 'approved_send', scene: Scene): Promise<ToldSend> {
    return work === 'send'
      ? askToSend(ports, this.#senders, scene)
      : askAndApprove(ports, this.#senders, scene, this.#world.mailboxId);
  }

  async #arrange(work: CrashedWork): Promise<Scene> {
    const domain = work === 'approved_send' ? APPROVED_DOMAIN : 'example.com';
    const { id, subject } = await this.#world.draft([`bob@${domain}`]);
    const scene = { draftId: id, subject, key: randomUUID() };
    if (work === 'file_copy') await this.#sent(scene);
    return scene;
  }

  /** The state after a send; without its operation no worker of the gateway claims it. */
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
          data: { ...sent, rfc_message_id: null, response: null, rejected: [], known_by: 'server' },
        },
      ],
    });
  }

  /** Repeats the request until its answer is final; unknown is an answer. */
  #settle(run: GatewayRun, work: 'send' | 'approved_send', scene: Scene): Promise<ToldSend> {
    const operationId = this.#operationId(scene);
    return eventually(async () => {
      if (work === 'approved_send') await passOver(run.ports, operationId, scene.draftId);
      else await settleSend(run.ports, { operationId, orgId: null });
      const answer = await this.#ask(run, work, scene);
      if (NOT_YET.has(answer.code)) throw new Error(answer.code);
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
}

const NOT_YET: ReadonlySet<string> = new Set([
  'idempotency_in_progress', 'provider_timeout', 'approval_pending', 'pending_commit', 'committing',
]); // prettier-ignore

/** The scripted server files no copies, so none is waited for. */
const unwaiting = (ports: Ports): Ports => ({
  ...ports,
  server: { ...ports.server, sendTimes: { ...ports.server.sendTimes, ownCopyWithinMs: 0 } },
});
