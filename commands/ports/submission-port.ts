/**
 * Hands a message to a mailbox's submission server (RFC 6409), one phase at a time, so that every failure
 * shows whether the message may have been sent. Addresses, servers and credentials stay behind it.
 */
import type { ConnectionReport, HostSettings, MailLogin } from './mail-port.ts';
import type { ErrorCode } from '../values/errors.ts';

/** How far an exchange came. Up to `envelope` nothing was sent; from `data` on the message may have been. */
export const SMTP_PHASES = ['connect', 'envelope', 'data'] as const;
export type SmtpPhase = (typeof SMTP_PHASES)[number];

export interface SmtpEnvelope {
  readonly from: string;
  readonly to: readonly string[];
}

/** What the server is informed of before it receives the message. */
export interface MessageTraits {
  /** Bytes, for SIZE (RFC 1870). */
  readonly size: number;
  /**
   * True when an address of the envelope or of the header has a non-ASCII local part, which only SMTPUTF8
   * (RFC 6531) carries.
   */
  readonly needsSmtpUtf8: boolean;
}

/** A recipient that the server refused, in the server's own words. */
export interface RefusedRecipient {
  readonly address: string;
  readonly smtpStatus: number;
  readonly response: string;
}

/** The server's answer when it accepted the message. */
export interface Acceptance {
  readonly response: string;
  /** The Message-ID that the server gave the message instead, where its answer names one. */
  readonly replacedMessageId: string | null;
}

/**
 * What is certain after a failure: `later` = nothing was sent and another attempt may succeed, `never` = nothing was
 * sent and the same message will be refused again, `unknown` = it may have been sent.
 */
export type Verdict = 'later' | 'never' | 'unknown';

export interface SubmissionFailureFacts {
  readonly phase: SmtpPhase;
  readonly verdict: Verdict;
  readonly code: ErrorCode;
  /** Null when the server did not answer. */
  readonly smtpStatus: number | null;
  readonly response: string | null;
  readonly refused: readonly RefusedRecipient[];
}

/** An attempt that did not end with the server's acceptance. */
export class SubmissionFailure extends Error {
  readonly facts: SubmissionFailureFacts;
  constructor(message: string, facts: SubmissionFailureFacts, cause?: unknown) {
    super(message, { cause });
    this.name = 'SubmissionFailure';
    this.facts = facts;
  }
}

/**
 * One exchange with the server. Every method throws `SubmissionFailure`; after that only `close` may be
 * called.
 */
export interface Submission {
  /**
   * MAIL, RCPT and DATA, until the server waits for the message (354). Returns the recipients that it
   * refused. It is a failure when all of them are refused, or the server lacks what the message needs.
   */
  begin(envelope: SmtpEnvelope, message: MessageTraits): Promise<readonly RefusedRecipient[]>;
  /** Sends the message with its final dot, and returns the server's answer. */
  transmit(content: AsyncIterable<Uint8Array>): Promise<Acceptance>;
  /** Closes the connection. Safe at any time, and more than once. */
  close(): void;
}

export interface SubmissionPort {
  /** Connects to the mailbox's server and logs in. Throws `SubmissionFailure` of phase `connect`. */
  connect(mailboxId: string): Promise<Submission>;
  /** Signs in to a server and out again; sends nothing. Never throws. */
  testLogin(settings: HostSettings, login: MailLogin): Promise<ConnectionReport>;
}
