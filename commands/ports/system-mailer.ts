/** The port through which the gateway sends mails of its own. */

export interface OutgoingMail {
  /** A UUID. The Message-ID is made of it, so that a second copy is recognised. */
  readonly id: string;
  readonly kind: string;
  /** The address it goes to. */
  readonly to: string;
  /** The account it is for, or the invite; null when only the address is known. */
  readonly recipientId: string | null;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Besides those that every such mail has. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** What the person is to open; null where there is nothing to open. */
  readonly link: string | null;
}

/** Throws `MailNotSent` when the mail server did not take it, or did not say so. */
export interface SystemMailer {
  send(mail: OutgoingMail): Promise<void>;
}

export class MailNotSent extends Error {
  /** The mail server's reply code, or a word of this gateway. */
  readonly code: string;
  /** The server refuses this address or this mail for good. */
  readonly isFinal: boolean;

  constructor(code: string, isFinal: boolean, cause: unknown) {
    super(`the mail was not sent: ${code}`, { cause });
    this.name = 'MailNotSent';
    this.code = code;
    this.isFinal = isFinal;
  }
}
