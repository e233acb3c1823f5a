/** A message, its folder and its parts as fetched from a mail server. */
import type { AuthenticationResults } from './authentication-results.ts';

export interface FolderRef {
  readonly number: number;
  readonly path: string;
  /** The latest folder list did not contain it. */
  readonly isMissing?: boolean;
}

export interface MessageRef {
  readonly folder: FolderRef;
  readonly uidValidity: number;
  readonly uid: number;
}

/** The fields that identify a message. */
export type Identified = Pick<FetchedMessage, 'messageId' | 'subject'>;

export interface Address {
  readonly name: string | null;
  readonly email: string;
}

export interface AttachmentPart {
  /**
   * Ordinal among the leaves of the message, from 1. An attachment id contains it with the message's place.
   */
  readonly part: number;
  readonly filename: string | null;
  readonly contentType: string;
  /**
   * Decoded octets. Without `sizeExact` it is computed from the encoded size, and inexact when line lengths
   * are unusual.
   */
  readonly size: number;
  /** Absent in older stored messages: unknown. */
  readonly sizeExact?: boolean;
  readonly inline: boolean;
  readonly contentId: string | null;
}

/** One fetched message, every text decoded. Times are UTC. */
export interface FetchedMessage {
  readonly ref: MessageRef;
  readonly seen: boolean;
  readonly flagged: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
  readonly keywords: readonly string[];
  readonly size: number;
  readonly receivedAt: Date;
  readonly sentAt: Date | null;
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  readonly subject: string | null;
  readonly from: readonly Address[];
  readonly to: readonly Address[];
  readonly cc: readonly Address[];
  readonly bcc: readonly Address[];
  readonly replyTo: readonly Address[];
  /**
   * Where the sender of a list mail requests replies to all (Mail-Followup-To); absent = not given, or no
   * list.
   */
  readonly followUpTo?: readonly Address[];
  readonly autoSubmitted: string | null;
  readonly hasAttachments: boolean;
  readonly attachments: readonly AttachmentPart[];
  /** Topmost first; absent = unknown. */
  readonly authenticationResults?: readonly AuthenticationResults[];
  /** Root Message-ID of the thread: first of References, else In-Reply-To, else its own. */
  readonly threadRoot: string | null;
  /**
   * Id of its thread; absent while the mirror of the mailbox is incomplete, and when no Message-ID connects
   * it to a thread.
   */
  readonly threadId?: string;
  /** Ids of other threads that this message, not yet in the mirror, joins with its own. */
  readonly mergedThreads?: readonly string[];
  /** The provider's id of a message shown in several folders (X-GM-MSGID); absent on other servers. */
  readonly providerId?: string;
  /** Numbers of the other folders that contain it, ascending; with `providerId` only. */
  readonly alsoIn?: readonly number[];
  readonly text?: FetchedText;
}

/** The preferred alternative of a message; when it is missing, the other one is read. */
export type BodySource = 'plain' | 'html';

/** One leaf of a message, before its bytes are read. */
export interface PartDescription extends AttachmentPart {
  /** Its section on the mail server (RFC 3501 6.4.5). */
  readonly path: string;
  readonly encoding: 'identity' | 'base64' | 'quoted-printable' | 'uuencode';
  readonly charset: string | null;
  /** Bytes as stored on the server. */
  readonly encodedSize: number;
}

/** Decoded text of a message, truncated to the requested number of characters. */
export interface FetchedText {
  readonly content: string;
  readonly truncated: boolean;
  readonly totalChars: number;
  /** The content is the sender's HTML, unchanged and not truncated: only `readHtml` may process it. */
  readonly isHtml?: true;
  /** The message is longer than the part that is ever read. */
  readonly isCutOff?: true;
  /** Characters that style hides, omitted from a text made from HTML. */
  readonly hiddenChars?: number;
  /** Characters marked in such a text as small or faint. */
  readonly smallChars?: number;
  readonly faintChars?: number;
  /** Its HTML requires more time or memory than a mail may use; none of it is shown. */
  readonly isUnreadable?: true;
  /** The mail server announced a text but returned no byte of it, twice: the sender's text is unknown. */
  readonly isMissing?: true;
  readonly notes?: readonly TextNote[];
}

/**
 * How a text was obtained. `not_parsed`: the mail server could not parse the parts of the message, and the
 * text was taken from its source. `attached_text`: the message has no text of its own; these are its reports
 * or attached messages. `text_missing`: the mail server did not return one of several parts of the text.
 */
export const TEXT_NOTES = ['not_parsed', 'attached_text', 'text_missing'] as const;
export type TextNote = (typeof TEXT_NOTES)[number];
