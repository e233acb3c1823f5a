/** The directory in memory, fed from a memory event store by the projection's own rules. */
import type { Directory, DirectoryState } from '../../commands/kernel/directory.ts';
import { readEvent } from '../../commands/kernel/event.ts';
import type { PastFact } from '../../commands/kernel/event.ts';
import type { PersonalData, Position, Sealed } from '../../commands/kernel/ports.ts';
import { type AnyEvent, eventCatalogue } from '../../commands/event-catalogue.ts';
import {
  changesOf,
  type Entity,
  type EntityKey,
  type EntityTypes,
} from '../../projections/directory-entities.ts';
import type { MemoryEventStore } from './memory-event-store.ts';

const keyOf = ({ kind, id }: EntityKey): string => `${kind} ${id}`;

export class MemoryDirectory implements Directory {
  version = 0;
  #state: DirectoryState;
  #applied = 0;
  readonly #entities = new Map<string, Entity>();
  readonly #events: MemoryEventStore;
  readonly #personal: PersonalData;

  constructor(events: MemoryEventStore, personal: PersonalData) {
    this.#events = events;
    this.#personal = personal;
    this.#state = stateOf([]);
  }

  get state(): DirectoryState {
    return this.#state;
  }

  async waitFor(position: Position): Promise<void> {
    for (const stored of this.#events.all.slice(this.#applied)) {
      if (stored.position > position) break;
      this.#applied += 1;
      const fact = readEvent(eventCatalogue, stored);
      if (fact) await this.#apply(stored.streamName, fact as PastFact<AnyEvent>);
    }
    this.version += 1;
    this.#state = stateOf([...this.#entities.values()]);
  }

  async #apply(streamName: string, fact: PastFact<AnyEvent>): Promise<void> {
    const lookUp = (kind: keyof EntityTypes, id: string) =>
      this.#entities.get(keyOf({ kind, id }))?.value as never;
    const change = await changesOf(streamName, fact, lookUp, (sealed: Sealed) => this.#personal.open(sealed));
    for (const entity of change.put)
      this.#entities.set(keyOf({ kind: entity.kind, id: entity.value.id }), entity);
    for (const key of change.remove) this.#entities.delete(keyOf(key));
  }
}

function stateOf(entities: readonly Entity[]): DirectoryState {
  const of = <Kind extends keyof EntityTypes>(kind: Kind): readonly EntityTypes[Kind][] =>
    entities.flatMap((entity) => (entity.kind === kind ? [entity.value as EntityTypes[Kind]] : []));
  const byId = <Value extends { readonly id: string }>(values: readonly Value[]) =>
    new Map(values.map((value) => [value.id, value]));
  const grants = of('grant');
  const pairs = <Inner>(
    outer: (grant: (typeof grants)[number]) => string,
    inner: (ids: typeof grants) => Inner,
  ) => new Map([...Map.groupBy(grants, outer)].map(([id, ofId]): [string, Inner] => [id, inner(ofId)]));
  return {
    organisations: byId(of('organisation')),
    people: byId(of('person')),
    roles: new Map(of('role').map(({ id, role }) => [id, role])),
    agents: byId(of('agent')),
    tokens: byId(of('token')),
    tokenIdByHash: new Map(
      of('token').flatMap(({ id, secretHash }): [string, string][] =>
        secretHash === null ? [] : [[secretHash, id]],
      ),
    ),
    mailboxes: byId(of('mailbox')),
    mailboxIdByNumber: new Map(of('mailbox').map(({ id, number }) => [number, id])),
    grants: byId(grants),
    grantIds: pairs(
      ({ mailboxId }) => mailboxId,
      (ofMailbox) => new Map(ofMailbox.map(({ principalId, id }) => [principalId, id])),
    ),
    mailboxIdsByPrincipal: pairs(
      ({ principalId }) => principalId,
      (ofPrincipal) => new Set(ofPrincipal.map(({ mailboxId }) => mailboxId)),
    ),
  };
}
