/** Concurrent waits share one fetch of the message of a change. */
import type { MailPort } from '../../commands/ports/mail-port.ts';
import type { FetchedMessage, MessageRef } from '../../commands/mail/message.ts';
import type { ObservedChange } from '../../commands/ports/change-feed.ts';
import type { Clock } from '../../commands/ports/ports.ts';

/** A change, and where its message is. */
export interface ChangedMessage {
  readonly change: ObservedChange;
  readonly ref: MessageRef;
}

type Fetched = Promise<FetchedMessage | null>;

/** Later waits fetch the message again. */
const SHARED_FOR_MS = 2_000;

/** Current and recent fetches by change; a later change of the same message is another key. */
const shared = new WeakMap<MailPort, Map<string, Fetched>>();

function sharedOf(mail: MailPort): Map<string, Fetched> {
  const known = shared.get(mail);
  if (known) return known;
  const fetched = new Map<string, Fetched>();
  shared.set(mail, fetched);
  return fetched;
}

/** In the given order; null for a message that is gone. Throws what borrowing a connection throws. */
export async function fetchOnce(
  { mail, clock }: { readonly mail: MailPort; readonly clock: Clock },
  mailboxId: string,
  changed: readonly ChangedMessage[],
): Promise<readonly (FetchedMessage | null)[]> {
  const fetched = sharedOf(mail);
  const keyOf = ({ change: { position, index } }: ChangedMessage): string =>
    [mailboxId, position, index].join('/');
  const missing = changed.filter((one) => !fetched.has(keyOf(one)));
  if (missing.length > 0) {
    const all = mail.withMailbox(mailboxId, 'interactive', (session) =>
      session.fetch(
        missing.map(({ ref }) => ref),
        'structure',
        null,
      ),
    );
    const forget = (): void => {
      for (const one of missing) fetched.delete(keyOf(one));
    };
    for (const [index, one] of missing.entries()) {
      const message = all.then((messages) => messages[index] ?? null);
      // The waiting requests receive the error below.
      message.catch(() => undefined);
      fetched.set(keyOf(one), message);
    }
    void all.then(() => clock.sleep(SHARED_FOR_MS)).then(forget, forget);
  }
  return await Promise.all(changed.map((one) => fetched.get(keyOf(one)) ?? Promise.resolve(null)));
}
