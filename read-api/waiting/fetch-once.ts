/** Messages for whoever wakes at the same time: one change is fetched once, however many wait for it. */
import type { MailPort } from '../../commands/ports/mail-port.ts';
import type { FetchedMessage, MessageRef } from '../../commands/mail/message.ts';
import type { ObservedChange } from '../../commands/ports/change-feed.ts';
import type { Clock } from '../../commands/ports/ports.ts';

/** A change, and where its message lies. */
export interface ChangedMessage {
  readonly change: ObservedChange;
  readonly ref: MessageRef;
}

type Fetched = Promise<FetchedMessage | null>;

/** Who wakes later than this sees the message as it is then. */
const SHARED_FOR_MS = 2_000;

/** What is being fetched, or was just now, by change: a later change of the same message is another. */
const shared = new WeakMap<MailPort, Map<string, Fetched>>();

function sharedOf(mail: MailPort): Map<string, Fetched> {
  const known = shared.get(mail);
  if (known) return known;
  const fetched = new Map<string, Fetched>();
  shared.set(mail, fetched);
  return fetched;
}

/** In the order asked; null where the message is gone. Throws what borrowing a connection throws. */
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
      // Whoever asked is told below.
      message.catch(() => undefined);
      fetched.set(keyOf(one), message);
    }
    void all.then(() => clock.sleep(SHARED_FOR_MS)).then(forget, forget);
  }
  return await Promise.all(changed.map((one) => fetched.get(keyOf(one)) ?? Promise.resolve(null)));
}
