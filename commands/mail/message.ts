/** A message, its folder and its parts as fetched from a mail server. */
import type { AuthenticationResults } from './authentication-results.ts';
import type { FetchedText } from './fetched-text.ts';

export interface FolderRef {
  readonly number: number;
  readonly path: string;
  /** The last list of the folders did not name it. */
  readonly isMissing?: boolean;
}

export interface MessageRef {
  readonly folder: FolderRef;
  readonly uidValidity: number;
  readonly uid: number;
}

/** As much of a message as tells it from others. */
export type Identified = Pick<FetchedMessage, 'messageId' | 'subject'>;

export interface Address {
  readonly name: string | null;
  readonly email: string;
}

export interface AttachmentPart {
  /** Ordinal among the leaves of the message, from 1: what an attachment id names beside the message's place. */
  readonly part: number;
  readonly filename: string | null;
  readonly contentType: string;
  /** Decoded octets; without `sizeExact` computed from the encoded size, and off by as much as its lines differ from the usual. */
  readonly size: number;
  /** Absent in copies from before it was told: not known. */
  readonly sizeExact?: boolean;
  readonly inline: boolean;
  readonly contentId: string | null;
}

/** One message as fetched, every text decoded. Times are UTC. */
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
  /** Where the sender of a list's mail wants answers to everybody (Mail-Followup-To); absent = not said, or no list. */
  readonly followUpTo?: readonly Address[];
  readonly autoSubmitted: string | null;
  readonly hasAttachments: boolean;
  readonly attachments: readonly AttachmentPart[];
  /** Topmost first; absent = not known. */
  readonly authenticationResults?: readonly AuthenticationResults[];
  /** Root Message-ID of the thread: first of References, else In-Reply-To, else its own. */
  readonly threadRoot: string | null;
  /** Id of its thread; absent while the index of the mailbox is not complete, and where it has no Message-ID to belong anywhere by. */
  readonly threadId?: string;
  /** Ids of other threads that this message, which is not in the index yet, makes one with its own. */
  readonly mergedThreads?: readonly string[];
  /** The provider's id of a message that it may show in several folders (X-GM-MSGID); absent on other servers. */
  readonly providerId?: string;
  /** Numbers of the other folders it lies in, ascending; with `providerId` only. */
  readonly alsoIn?: readonly number[];
  readonly text?: FetchedText;
}

/** Which alternative of a message is read first; the other one where it has no such. */
export type BodySource = 'plain' | 'html';

/** One leaf of a message, before its bytes are read. */
export interface PartDescription extends AttachmentPart {
  /** How the mail server names it (RFC 3501 6.4.5). */
  readonly path: string;
  readonly encoding: 'identity' | 'base64' | 'quoted-printable' | 'uuencode';
  readonly charset: string | null;
  /** Bytes as they lie on the server. */
  readonly encodedSize: number;
}
