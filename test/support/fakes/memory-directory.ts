/** The directory in memory, fed from a memory event store by the rules of the projection. */
import type { Directory, DirectoryState } from '../../../commands/ports/directory.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import type { PersonalData } from '../../../commands/ports/ports.ts';
import type { Position } from '../../../commands/values/position.ts';
import type { MailboxListener } from '../../../infra/directory/mailbox-news.ts';
import { DirectoryMaps } from '../../../infra/directory/directory-maps.ts';
import { changesOf, denialBy } from '../../../projections/directory-changes.ts';
import { type DirectoryChange, NOTHING } from '../../../projections/directory-entities.ts';
import { projectedEvent } from '../../../projections/projection.ts';
import type { MemoryEventStore } from './memory-event-store.ts';

export class MemoryDirectory implements Directory {
  readonly isCurrent = true;
  readonly untilCurrent = () => Promise.resolve(true);
  version = 0;
  readonly #listeners: MailboxListener[] = [];
  #applied = 0;
  readonly #maps = new DirectoryMaps();
  readonly #events: MemoryEventStore;
  readonly #personal: PersonalData;

  constructor(events: MemoryEventStore, personal: PersonalData) {
    this.#events = events;
    this.#personal = personal;
  }

  get state(): DirectoryState {
    return this.#maps.state;
  }

  onMailboxChange(listener: MailboxListener): void {
    this.#listeners.push(listener);
  }

  waitForAll(position: Position): Promise<void> {
    return this.waitFor(position);
  }

  async waitFor(position: Position): Promise<void> {
    for (const stored of this.#events.all.slice(this.#applied)) {
      if (stored.position > position) break;
      this.#applied += 1;
      const change = await this.#changeBy(stored);
      const before = this.state.mailboxes;
      const mailboxes = change.put.flatMap(({ kind, value }) =>
        kind === 'mailbox' ? [{ id: value.id, before: before.get(value.id) ?? null, now: value }] : [],
      );
      for (const entity of change.put) this.#maps.put(entity);
      for (const key of change.remove) this.#maps.remove(key);
      this.version += 1;
      for (const told of mailboxes) for (const listener of this.#listeners) listener(told);
    }
  }

  async #changeBy(stored: StoredEvent): Promise<DirectoryChange> {
    const { lookUp } = this.#maps;
    try {
      const event = projectedEvent(stored);
      if (event === null) return NOTHING;
      return await changesOf(event, lookUp, (sealed) => this.#personal.open(sealed));
    } catch {
      return denialBy(stored, lookUp);
    }
  }
}
