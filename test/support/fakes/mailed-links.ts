/** A log that keeps the links of the gateway's own mails, as it writes them while no mail server is set. */
import type { Log } from '../../../commands/ports/ports.ts';
import { eventually } from '../worlds/gateway.ts';

export class MailedLinks implements Log {
  readonly #links: { readonly kind: string; readonly recipientId: string; readonly link: string }[] = [];

  readonly info = (): void => undefined;
  readonly error = (): void => undefined;
  readonly warn = (_: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    const { kind, recipient_id: recipientId, link } = fields;
    if (typeof kind !== 'string' || typeof link !== 'string') return;
    this.#links.push({ kind, recipientId: String(recipientId), link });
  };

  /** The token of the `count`-th mail of that kind to the recipient: a person or an invite. Waits for the mail. */
  token(kind: string, recipientId: string, count = 1): Promise<string> {
    return eventually(() => {
      const found = this.#links.filter((mail) => mail.kind === kind && mail.recipientId === recipientId);
      const link = found[count - 1]?.link;
      if (link === undefined)
        return Promise.reject(new Error(`${String(found.length)} ${kind} mails so far`));
      return Promise.resolve(decodeURIComponent(link.slice(link.indexOf('=') + 1)));
    }, 10_000);
  }
}
