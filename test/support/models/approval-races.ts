/** An approval on which two gateways act at once: the answer of each, the streams, and the real result. */
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { PolicyEffect, PolicyRule } from '../../../commands/values/policy-document.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { Position } from '../../../commands/values/position.ts';
import { ApprovalCalls } from './approval-calls.ts';
import { brokenApprovalRules, statusInStream } from './approval-invariants.ts';
import { ApprovalWorld, type Asked, DECIDERS, MAILBOX, type PersonId } from '../worlds/approval-world.ts';
import type { Ended, Racecourse, Side } from './races.ts';
import { TwinCores } from '../worlds/twin-cores.ts';

/** One gateway of the two. */
export interface Replica {
  readonly ports: Ports;
  readonly calls: ApprovalCalls;
}

/** An approval of its own message, or of its own draft. */
export interface Scene extends Asked {
  readonly uid: number | null;
  readonly draftId: string | null;
}

export interface Race {
  readonly title: string;
  readonly kind: 'archive' | 'send';
  readonly policy: PolicyEffect;
  /** Votes given before the race. */
  readonly approvedBy: readonly PersonId[];
  /** Directly before it. */
  readonly ready?: (world: RaceWorld, scene: Scene, course: Racecourse) => Promise<void>;
  readonly left: (scene: Scene, replica: Replica, world: RaceWorld) => Promise<unknown>;
  readonly right: (scene: Scene, replica: Replica, world: RaceWorld) => Promise<unknown>;
  /** Errors beyond the rules of every approval, one sentence each; and the winner. */
  readonly judge: (raced: Raced, world: RaceWorld) => Verdict | Promise<Verdict>;
  /** Restores the state for the next race. */
  readonly after?: (world: RaceWorld) => Promise<void>;
  /** An additional race: run half as often. */
  readonly isExtra?: true;
  /** Only this side can ever win. */
  readonly always?: Side;
}

export interface Raced {
  readonly scene: Scene;
  readonly events: readonly StoredEvent[];
  readonly status: string | null;
  /** `done`, or the code of the refusal. */
  readonly left: string;
  readonly right: string;
}

export interface Verdict {
  readonly winner: Side;
  readonly isFair: boolean;
}

export class RaceWorld implements AsyncDisposable {
  readonly world: ApprovalWorld;
  readonly left: Replica;
  readonly right: Replica;
  readonly #twins: TwinCores;
  readonly #scenes = new Map<number, Scene>();
  readonly #writes = new Map<number, number>();
  /** Writes that no commit announced. */
  readonly #unannounced = new Set<string>();

  private constructor(twins: TwinCores, world: ApprovalWorld) {
    this.#twins = twins;
    this.world = world;
    this.left = replicaOf(world, twins.first);
    this.right = replicaOf(world, twins.second);
    world.server.onWrite = ({ uids }) => this.#noteWrite(uids);
  }

  static async open(): Promise<RaceWorld> {
    const twins = await TwinCores.open();
    return new RaceWorld(twins, await ApprovalWorld.open(twins.first));
  }

  /** Of both. */
  get clock(): TwinCores['clock'] {
    return this.#twins.clock;
  }

  async setPolicy(then: PolicyEffect): Promise<void> {
    const when: PolicyRule['when'] = { actions: ['archive', 'send'], actors: ['agent'] };
    await this.bothKnow(await this.world.setPolicy(this.left.ports, [{ id: 'race', when, then }]));
  }

  /** Until then the other gateway may not know it. */
  async bothKnow(position: Position | null): Promise<void> {
    if (position === null) return;
    for (const { ports } of [this.left, this.right]) await ports.directory.waitFor(position);
  }

  /** Runs one race. `course` keeps the lead. */
  async run(
    race: Race,
    course: Racecourse,
  ): Promise<{ readonly winner: Side; readonly broken: readonly string[] }> {
    const scene = await this.#arrange(race);
    await race.ready?.(this, scene, course);
    const [left, right] = await course.run({
      left: () => race.left(scene, this.left, this),
      right: () => race.right(scene, this.right, this),
    });
    const events = await this.streamOf(scene);
    const raced = { scene, events, status: statusInStream(events), left: toldOf(left), right: toldOf(right) };
    const { winner, isFair } = await race.judge(raced, this);
    course.tell(winner);
    // A judge may commit what the race left open.
    const judged = await this.streamOf(scene);
    const broken = [
      ...brokenApprovalRules(judged, DECIDERS),
      ...this.#brokenEffects(scene, statusInStream(judged)),
      ...(isFair ? [] : ['the answers do not agree with what happened']),
    ];
    await race.after?.(this);
    return { winner, broken: broken.map((sentence) => `${sentence}: ${describe(raced)}`) };
  }

  streamOf({ operationId }: Asked): Promise<readonly StoredEvent[]> {
    return this.left.ports.events.readStream(`operation-${operationId}`);
  }

  async #arrange({ kind, approvedBy }: Race): Promise<Scene> {
    const { calls } = this.left;
    const scene = kind === 'send' ? await this.#askToSend() : await this.#askToArchive();
    if (scene.uid !== null) this.#scenes.set(scene.uid, scene);
    for (const person of approvedBy)
      await calls.vote(person, scene, { decision: 'approve', content_hash: scene.contentHash });
    return scene;
  }

  async #askToArchive(): Promise<Scene> {
    const { ports } = this.left;
    const { id, uid } = this.world.arrive(ports);
    const operation = {
      type: 'message_actions',
      select: { message_ids: [id] },
      actions: [{ type: 'archive' }],
    };
    const input = { mailbox_id: MAILBOX, operation, authorization: { mode: 'prepare' } };
    return { ...(await this.world.ask(ports, [actOnEmail, input])), uid, draftId: null };
  }

  async #askToSend(): Promise<Scene> {
    const { ports } = this.left;
    const draftId = await this.world.startDraft(ports);
    const operation = { type: 'draft_send', draft_id: draftId };
    const input = { mailbox_id: MAILBOX, operation, authorization: { mode: 'prepare' } };
    return { ...(await this.world.ask(ports, [actOnEmail, input])), uid: null, draftId };
  }

  async #noteWrite(uids: readonly number[]): Promise<void> {
    for (const uid of uids) {
      this.#writes.set(uid, (this.#writes.get(uid) ?? 0) + 1);
      const scene = this.#scenes.get(uid);
      if (scene && statusInStream(await this.streamOf(scene)) !== 'committing')
        this.#unannounced.add(scene.operationId);
    }
  }

  #brokenEffects({ operationId, uid, draftId }: Scene, status: string | null): readonly string[] {
    const effects = uid === null ? this.world.sentOf(draftId ?? '') : (this.#writes.get(uid) ?? 0);
    const wanted = status === 'committed' ? 1 : 0;
    return [
      ...(effects === wanted ? [] : [`${String(effects)} effects of an approval that is ${String(status)}`]),
      ...(this.#unannounced.has(operationId) ? ['an effect without a commit'] : []),
    ];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#twins[Symbol.asyncDispose]();
  }
}

const replicaOf = (world: ApprovalWorld, core: Ports): Replica => {
  const ports = world.reachedFrom(core);
  return { ports, calls: new ApprovalCalls(world, ports) };
};

/** A defect is not an answer. */
function toldOf(ended: Ended<unknown>): string {
  if (ended.status === 'fulfilled') return 'done';
  if (ended.reason instanceof GatewayError) return ended.reason.code;
  throw ended.reason;
}

const describe = ({ left, right, events }: Raced): string =>
  `${left}, ${right}; ${events.map(({ type }) => type).join(' ')}`;
