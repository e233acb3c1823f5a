/** Reports changed mailboxes to their listeners, whichever process changed them. */
import { isWorkedOn } from '../../commands/kernel/membership.ts';
import type { DirectoryState, MailboxEntry } from '../../commands/ports/directory.ts';
import type { EntityKey } from '../../projections/directory-entities.ts';

/**
 * A mailbox that is new (`before` is null), changed, or removed (`now` is null). Both are null also while its
 * organisation is deleted.
 */
export interface MailboxChange {
  readonly id: string;
  readonly before: MailboxEntry | null;
  readonly now: MailboxEntry | null;
}

/** Called for every changed mailbox. Must not throw. */
export type MailboxListener = (change: MailboxChange) => void;

/** Mailboxes as they were before a change. */
export type Before = ReadonlyMap<string, MailboxEntry | null>;

export class MailboxNews {
  readonly #state: DirectoryState;
  readonly #listeners: MailboxListener[] = [];

  constructor(state: DirectoryState) {
    this.#state = state;
  }

  listen(listener: MailboxListener): void {
    this.#listeners.push(listener);
  }

  /** The mailboxes that a change of these entities may concern; a change of an organisation concerns all its mailboxes. */
  before(keys: readonly EntityKey[]): Before {
    const ids = keys.flatMap(({ kind, id }) =>
      kind === 'mailbox' ? [id] : kind === 'organisation' ? this.#mailboxesOf(id) : [],
    );
    return new Map(ids.map((id) => [id, this.#shown(id)]));
  }

  /** All mailboxes. */
  all(): Before {
    return new Map([...this.#state.mailboxes.keys()].map((id) => [id, this.#shown(id)]));
  }

  /** After the change. */
  tell(before: Before): void {
    for (const [id, was] of before) {
      const now = this.#shown(id);
      if (now?.version === was?.version) continue;
      for (const listener of this.#listeners) listener({ id, before: was, now });
    }
  }

  #mailboxesOf(orgId: string): readonly string[] {
    return [...this.#state.mailboxes.values()].flatMap((mailbox) =>
      mailbox.orgId === orgId ? [mailbox.id] : [],
    );
  }

  #shown(id: string): MailboxEntry | null {
    const mailbox = this.#state.mailboxes.get(id);
    return mailbox && isWorkedOn(this.#state, mailbox) ? mailbox : null;
  }
}
