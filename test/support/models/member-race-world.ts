/** Two gateways that change the members of one organisation at once, each with its own directory. */
import { decideAndAppend, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import { callerInSession, callerOf } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { membersOf } from '../../../commands/kernel/membership.ts';
import { leftBehind, settleDeparture } from '../../../commands/organisation/departures.ts';
import { addPerson } from '../../../commands/organisation/add-person.ts';
import {
  addMember,
  changeRole,
  createOrganisation,
  organisation,
  renameOrganisation,
} from '../../../commands/organisation/organisation.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { Role } from '../../../commands/values/scopes.ts';
import { invokeAs } from '../worlds/invoke-as.ts';
import { TwinCores } from '../worlds/twin-cores.ts';

const FAR = '2100-01-01T00:00:00.000Z';
/** A session that was never written. */
const SESSION = {
  ...{ id: 'ses_race', secretHash: '', position: '9'.repeat(19), expiresAt: FAR, steppedUpUntil: FAR },
  ...{ endedAt: null, client: null },
};

/** An organisation that only marks points of the log. */
const MARKER = 'org_marker';

/** What a call ended with: `done`, or the code of its refusal. */
export type Ending = string;

export class MemberRaceWorld implements AsyncDisposable {
  readonly #twins: TwinCores;
  #markers = 0;
  orgId = '';

  private constructor(twins: TwinCores) {
    this.#twins = twins;
  }

  /** The people have accounts, and are in no organisation but that of the marks. */
  static async open(people: readonly string[]): Promise<{ world: MemberRaceWorld; ids: readonly string[] }> {
    const world = new MemberRaceWorld(await TwinCores.open());
    await world.bothKnow();
    const ids: string[] = [];
    for (const name of people) {
      const person = { orgId: MARKER, email: `${name}@example.com`, name, role: 'member' } as const;
      ids.push(await addPerson(world.left, systemAuthor(world.left, MARKER), person));
    }
    return { world, ids };
  }

  get left(): Ports {
    return this.#twins.first;
  }

  get right(): Ports {
    return this.#twins.second;
  }

  /** A new organisation with one owner. */
  async found(ownerId: string): Promise<void> {
    this.orgId = this.left.ids.newId('org');
    await this.#decide(this.left, (state) => createOrganisation(state, { name: 'Raced', ownerId }));
  }

  /** Makes the operator see to it that this person has this role, on one of the two. */
  async seat(ports: Ports, userId: string, role: Role): Promise<void> {
    await this.#decide(ports, (state) =>
      state.members.has(userId)
        ? changeRole(state, { userId, role, by: 'operator' })
        : addMember(state, { userId, role, by: 'operator' }),
    );
  }

  async #decide(
    ports: Ports,
    decide: (state: typeof organisation.initial) => ReturnType<typeof addMember>,
  ): Promise<void> {
    const author = systemAuthor(ports, this.orgId);
    const { position } = await decideAndAppend(ports, author, organisation, { id: this.orgId, decide });
    if (position !== null) await ports.directory.waitFor(position);
  }

  /** As the person in a session that is stepped up, as one of the two knows them. */
  async act<Output>(ports: Ports, userId: string, capability: Capability, input: object): Promise<Output> {
    const now = ports.clock.now();
    const session = { ...SESSION, orgId: this.orgId, userId, startedAt: now.toISOString() };
    const caller = callerInSession(ports.directory.state, session, now);
    if (!caller) throw new GatewayError('token_revoked', 'This session is over.');
    const { output } = await invokeAs(ports, caller, [capability, input]);
    return output as Output;
  }

  /** Both have applied everything that was written before: they wait for one more event. */
  async bothKnow(): Promise<void> {
    const ports = this.left;
    this.#markers += 1;
    const name = `Marker ${String(this.#markers)}`;
    const { position } = await decideAndAppend(ports, systemAuthor(ports, MARKER), organisation, {
      id: MARKER,
      decide: (state) =>
        state.name === null
          ? createOrganisation(state, { name, ownerId: 'usr_marker' })
          : renameOrganisation(state, name, 'operator'),
    });
    const both = [this.left, this.right];
    await Promise.all(both.map(({ directory }) => directory.waitFor(position ?? 0n)));
  }

  roles(): ReadonlyMap<string, Role> {
    const { state } = this.right.directory;
    return new Map(membersOf(state, this.orgId).map(({ userId, role }) => [userId, role]));
  }

  isUsable(tokenId: string): boolean {
    const { directory, clock } = this.right;
    const token = directory.state.tokens.get(tokenId);
    return token?.revokedAt === null && callerOf(directory.state, token, clock.now()) !== null;
  }

  stream(): Promise<readonly StoredEvent[]> {
    return this.left.events.readStream(`organisation-${this.orgId}`);
  }

  /** The background work of one gateway, until it finds nothing in this organisation. */
  async sweep(): Promise<readonly string[]> {
    const find = () =>
      leftBehind(this.right.directory.state, this.right.clock.now()).filter(
        ({ orgId }) => orgId === this.orgId,
      );
    for (let pass = 0; pass < 3 && find().length > 0; pass += 1) {
      for (const departure of find()) await settleDeparture(this.right, departure);
      await this.bothKnow();
    }
    return find().map(({ kind, id }) => `${kind} ${id}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#twins[Symbol.asyncDispose]();
  }
}

/** A defect is not an ending. */
export function endingOf(ended: PromiseSettledResult<unknown>): Ending {
  if (ended.status === 'fulfilled') return 'done';
  if (ended.reason instanceof GatewayError) return ended.reason.code;
  throw ended.reason;
}
