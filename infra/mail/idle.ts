/** IDLE (RFC 2177) on one client: the server reports changes of the open folder unasked. */
import type { ImapFlow } from 'imapflow';

export class Idle {
  readonly #client: Pick<ImapFlow, 'idle'>;
  /** The IDLE that neither a command nor the server has ended. */
  #current: object | null = null;
  #isRefused = false;

  constructor(client: Pick<ImapFlow, 'idle'>) {
    this.#client = client;
  }

  get isOn(): boolean {
    return this.#current !== null;
  }

  /** The server answered it with NO or BAD. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** `onEnd` is called when it ends other than by a command: refused, ended by the server, or with the connection. */
  begin(onEnd: () => void): void {
    const idle = {};
    this.#current = idle;
    const settle = (result: unknown): void => {
      // After a refusal imapflow would only poll every two minutes.
      this.#isRefused = result === false;
      if (this.#current !== idle) return;
      this.#current = null;
      onEnd();
    };
    this.#client.idle().then(settle, settle);
  }

  /** A command follows, and imapflow ends the IDLE before it. */
  giveUp(): void {
    this.#current = null;
  }
}

/**
 * Calls `onChange` when the server reports a change of the open folder; with the UID where it reports no more than that
 * this message vanished.
 */
export function reportChanges(
  client: Pick<ImapFlow, 'on'>,
  onChange: (vanished: number | null) => void,
): void {
  for (const event of ['exists', 'flags'] as const) {
    client.on(event, () => {
      onChange(null);
    });
  }
  client.on('expunge', (gone) => {
    // VANISHED (EARLIER) answers a request (RFC 7162 3.2.10): its sender has it, and would otherwise repeat forever.
    if ('earlier' in gone && gone.earlier === true) return;
    onChange('uid' in gone ? (gone.uid ?? null) : null);
  });
}
