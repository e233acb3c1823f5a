/** Composes the exact bytes of an Internet message from a draft (RFC 5322, RFC 2045). */
import type { Address } from '../mail/message.ts';

export interface ComposedAttachment {
  readonly filename: string | null;
  readonly contentType: string;
  /** The Content-ID, without brackets, under which the HTML shows it; null = an ordinary attachment. */
  readonly contentId: string | null;
  /** Read once, when the composer reaches the attachment. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

export interface MessageToCompose {
  /** With its brackets. */
  readonly messageId: string;
  readonly from: Address;
  readonly to: readonly Address[];
  readonly cc: readonly Address[];
  readonly replyTo: readonly Address[];
  readonly subject: string;
  /** With its brackets. */
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly text: string;
  readonly html: string | null;
  readonly attachments: readonly ComposedAttachment[];
  /** Null = no Date header: the send adds it in front. */
  readonly date: Date | null;
}

export interface MessageComposer {
  /**
   * The message with CRLF line ends, no line over 998 bytes, and no Bcc; ASCII only unless an address has a
   * non-ASCII local part (RFC 6532). Throws what the bytes of an attachment throw.
   */
  compose(message: MessageToCompose): AsyncIterable<Uint8Array>;
}
