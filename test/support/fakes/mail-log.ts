/** The links that a gateway without a mail server writes to its log, as an operator reads them there. */
import type { Log } from '../../../commands/ports/ports.ts';
import { eventually } from '../worlds/gateway.ts';

interface MailedLink {
  readonly kind: string;
  readonly recipientId: string;
  readonly link: string | null;
}

export class MailLog implements Log {
  readonly mails: MailedLink[] = [];

  info(): void {
    /* Mails are warnings. */
  }

  warn(_: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { kind, recipient_id, link } = fields;
    if (typeof kind !== 'string' || typeof recipient_id !== 'string') return;
    this.mails.push({ kind, recipientId: recipient_id, link: link as string | null });
  }

  error(): void {
    /* No mail. */
  }

  /** The token of the newest link of a kind for a person or an invite, once more than `seen` of them were mailed. */
  async tokenOf(kind: string, recipientId: string, seen = 0): Promise<string> {
    return await eventually(() => {
      const found = this.#of(kind, recipientId);
      const token = /#\w+=([\w-]+)$/.exec(found.at(-1)?.link ?? '')?.[1];
      if (found.length <= seen || token === undefined) {
        return Promise.reject(new Error(`no link of ${kind} was mailed to ${recipientId}`));
      }
      return Promise.resolve(token);
    });
  }

  countOf(kind: string, recipientId: string): number {
    return this.#of(kind, recipientId).length;
  }

  #of(kind: string, recipientId: string): readonly MailedLink[] {
    return this.mails.filter((mail) => mail.kind === kind && mail.recipientId === recipientId);
  }
}
