/**
 * Crashes a gateway anywhere between a request, its decision and its commit, restarts it, continues until the
 * client has the outcome, and gathers the results: the stream, the mailbox, and every answer.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitApproval } from '../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../commands/approvals/decide-approval.ts';
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import { type Caller, callerInSession } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { callerBehind } from '../../../commands/kernel/live-caller.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import type { OperationReply } from '../../../commands/operations/operation.ts';
import { settleOperation } from '../../../commands/messages/reconcile-operation.ts';
import { readPolicyDocument, setPolicy } from '../../../commands/policy/set-policy.ts';
import { loadMasterKey } from '../../../infra/security/key-file.ts';
import type { ApprovalWitness, ToldStep } from './approval-crash-rules.ts';
import type { Deciders } from './approval-invariants.ts';
import { CrashLine, type CrashPoint, type Passed } from './crash-line.ts';
import { crashRun, type CrashStage, watchRun } from './crash-run.ts';
import { behindTheLine, placeOf } from './crashed-run.ts';
import type { TestDovecot } from '../servers/dovecot.ts';
import { eventually, startTestGateway, type TestGateway } from '../worlds/gateway.ts';
import { type GatewayRun, openRun } from '../worlds/gateway-run.ts';
import { WatchedMailbox } from '../servers/watched-mailbox.ts';
import { invokeAs } from '../worlds/invoke-as.ts';

export type ApprovedAction = 'archive' | 'expunge';

/** A message that has arrived, and the keys of the three requests for it. */
interface Scene {
  readonly action: ApprovedAction;
  readonly messageId: string;
  readonly subject: string;
  readonly keys: { readonly ask: string; readonly decide: string; readonly commit: string };
}

const USER = 'anna';
const MOST_LOOKS = 10;
const SETTLED_WITHIN_MS = 60_000;
const NEEDS_APPROVAL = {
  rules: [{ id: 'needs_approval', when: { actions: ['archive', 'expunge'] }, then: { decision: 'require' } }],
};

export class ApprovalCrashes {
  readonly #gateway: TestGateway;
  readonly #watched: WatchedMailbox;
  readonly #stage: CrashStage;
  readonly #mailboxId: string;
  readonly #folder: string;
  /** The watching client does one thing at a time. */
  #watching: Promise<unknown> = Promise.resolve();

  private constructor(
    gateway: TestGateway,
    watched: WatchedMailbox,
    { stage, mailboxId, folder }: { stage: CrashStage; mailboxId: string; folder: string },
  ) {
    this.#gateway = gateway;
    this.#watched = watched;
    this.#stage = stage;
    this.#mailboxId = mailboxId;
    this.#folder = folder;
  }

  /** A gateway that set everything up and keeps running, as other processes would. */
  static async open(dovecot: TestDovecot): Promise<ApprovalCrashes> {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-approval-crash-'));
    const keyFile = join(folder, 'master.key');
    const watched = await WatchedMailbox.open(dovecot, USER);
    const gateway = await startTestGateway({ env: { KEY_FILE: keyFile } });
    const { databaseUrl, eventStoreUrl, ports: shared } = gateway.gateway;
    const mailboxId = await gateway.addMailbox(dovecot.imap(), USER);
    const { orgId } = gateway.tokens;
    const document = readPolicyDocument(shared.directory.state, orgId, NEEDS_APPROVAL);
    await setPolicy(shared, systemAuthor(shared, orgId), orgId, document);
    const masterKey = await loadMasterKey(keyFile, { mayMake: false });
    const imap = { host: '127.0.0.1', port: dovecot.imap().port };
    const home = { databaseUrl, eventStoreUrl, imapPort: imap.port, masterKey, shared };
    const places = { postgres: placeOf(databaseUrl), events: placeOf(eventStoreUrl), imap };
    const stage = {
      home,
      openLine: () => CrashLine.open(places),
      behind: (line: CrashLine) => behindTheLine(home, line),
    };
    return new ApprovalCrashes(gateway, watched, { stage, mailboxId, folder });
  }

  async close(): Promise<void> {
    this.#watched.close();
    await this.#gateway.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get deciders(): Deciders {
    const { userId } = this.#gateway.tokens;
    return { roles: { [userId]: 'owner' }, behindId: userId };
  }

  /** Every message to the stores and the mail server without a crash, in order. */
  async rehearse(action: ApprovedAction): Promise<readonly Passed[]> {
    // The first caller creates the keys of all principals' data.
    await this.#watchOnce(action);
    return await this.#watchOnce(action);
  }

  async #watchOnce(action: ApprovedAction): Promise<readonly Passed[]> {
    const scene = await this.#arrange(action);
    const { leases } = this.#stage.home.shared;
    return await watchRun(
      this.#stage,
      (run) => this.#askDecideCommit(run, scene, () => undefined),
      async () => {
        await eventually(async () => {
          if ((await leases.holder(this.#operationId(scene))) !== null) throw new Error('still held');
        });
      },
    );
  }

  /** Crashes at the point, restarts, repeats the requests until answered, then twice; reads the results. */
  async crash(action: ApprovedAction, point: CrashPoint): Promise<ApprovalWitness> {
    const scene = await this.#arrange(action);
    const told: ToldStep[] = [];
    await crashRun(this.#stage, point, (run, isOver) =>
      this.#askDecideCommit(run, scene, (step) => {
        if (!isOver()) told.push(step);
      }),
    );
    const atCrash = { events: await this.#events(scene), places: await this.#places(scene) };
    const restarted = openRun(this.#stage.home);
    const repeats: ToldStep[][] = [];
    try {
      await eventually(() => this.#goOn(restarted, scene), SETTLED_WITHIN_MS);
      for (const repeat of [[], []] as ToldStep[][]) {
        await this.#askDecideCommit(restarted, scene, (step) => repeat.push(step));
        repeats.push(repeat);
      }
    } finally {
      await restarted.close();
    }
    const places = await this.#places(scene);
    return { action, told, repeats, atCrash, events: await this.#events(scene), places };
  }

  /** The work of the workers and of a client that repeats its requests. Throws until it has ended. */
  async #goOn(run: GatewayRun, scene: Scene): Promise<void> {
    const { orgId } = this.#gateway.tokens;
    await settleOperation(run.ports, { operationId: this.#operationId(scene), orgId });
    const steps: ToldStep[] = [];
    await this.#askDecideCommit(run, scene, (step) => steps.push(step));
    const reply = steps.at(-1)?.reply;
    if (reply?.status !== 'completed') throw new Error(`it is ${String(reply?.status)}`);
  }

  async #askDecideCommit(
    { ports }: GatewayRun,
    { action, messageId, keys }: Scene,
    tell: (step: ToldStep) => void,
  ): Promise<void> {
    const asked = (await this.#invoke(ports, this.#agent(ports), keys.ask, [
      actOnEmail,
      {
        mailbox_id: this.#mailboxId,
        operation: {
          type: 'message_actions',
          select: { message_ids: [messageId] },
          actions: [{ type: action }],
        },
        authorization: { mode: 'prepare', reason: 'tidy up' },
      },
    ])) as OperationReply;
    tell({ step: 'ask', reply: asked });
    const { id: approval_id = '', content_hash = '' } = asked.approval ?? {};
    const ballot = { approval_id, decision: 'approve', content_hash };
    await this.#invoke(ports, this.#owner(ports), keys.decide, [decideApproval, ballot]);
    tell({ step: 'decide', reply: null });
    const commit = { approval_id, content_hash };
    const committed = await this.#invoke(ports, this.#agent(ports), keys.commit, [commitApproval, commit]);
    tell({ step: 'commit', reply: committed as OperationReply });
  }

  async #invoke(
    ports: Ports,
    caller: Caller,
    key: string,
    call: readonly [capability: Capability, input: object],
  ): Promise<unknown> {
    return (await invokeAs(ports, caller, call, { idempotencyKey: key })).output;
  }

  #agent({ directory, clock }: Ports): Caller {
    const token = [...directory.state.tokens.values()].find(({ principalKind }) => principalKind === 'agent');
    if (!token) throw new Error('the agent has no token');
    return callerBehind(directory.state, token, clock.now());
  }

  /** Signed in, with a recent step-up. */
  #owner({ directory, clock }: Ports): Caller {
    const { orgId, userId } = this.#gateway.tokens;
    const now = clock.now();
    const later = new Date(now.getTime() + 60_000).toISOString();
    const times = { startedAt: now.toISOString(), expiresAt: later, steppedUpUntil: later, endedAt: null };
    const session = {
      id: 'ses_owner',
      orgId,
      userId,
      secretHash: '',
      client: null,
      position: '9'.repeat(19),
      ...times,
    };
    const caller = callerInSession(directory.state, session, now);
    if (!caller) throw new Error('the owner is nobody');
    return caller;
  }

  #operationId({ keys }: Scene): string {
    const { orgId, agentId } = this.#gateway.tokens;
    return this.#stage.home.shared.ids.idForKey('opn', orgId, agentId, keys.ask);
  }

  async #arrange(action: ApprovedAction): Promise<Scene> {
    const { locators, directory } = this.#stage.home.shared;
    const subject = randomUUID();
    const { uid, uidValidity } = await this.#watch((watched) => watched.arrive('INBOX', subject));
    const mailbox = directory.state.mailboxes.get(this.#mailboxId);
    const folder = mailbox?.folders.find(({ path }) => path === 'INBOX');
    if (!mailbox || !folder) throw new Error('INBOX is not known');
    const place = { mailboxNumber: mailbox.number, folderNumber: folder.number, uidValidity, uid };
    const keys = { ask: randomUUID(), decide: randomUUID(), commit: randomUUID() };
    return { action, messageId: locators.message(place), subject, keys };
  }

  /** Places on which two reads in a row agree: an expunge of another message may fall into one read. */
  async #places(scene: Scene): Promise<readonly string[]> {
    let before = await this.#look(scene);
    for (let looks = 1; looks < MOST_LOOKS; looks += 1) {
      const now = await this.#look(scene);
      if (now.join() === before.join()) return now;
      before = now;
    }
    throw new Error(`where "${scene.subject}" lies changes with every look`);
  }

  async #look({ subject }: Scene): Promise<readonly string[]> {
    return (await this.#watch((watched) => watched.copiesOf(subject))).map(({ path }) => path);
  }

  #watch<Seen>(look: (watched: WatchedMailbox) => Promise<Seen>): Promise<Seen> {
    const seen = this.#watching.then(() => look(this.#watched));
    this.#watching = seen.catch(() => undefined);
    return seen;
  }

  #events(scene: Scene): Promise<ApprovalWitness['events']> {
    return this.#stage.home.shared.events.readStream(`operation-${this.#operationId(scene)}`);
  }
}
