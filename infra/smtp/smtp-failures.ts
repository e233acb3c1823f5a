/** Classifies a failed SMTP exchange: whether anything can have been sent, and whether a retry makes sense. */
import type { ErrorCode } from '../../commands/values/errors.ts';
import {
  type RefusedRecipient,
  type SmtpPhase,
  SubmissionFailure,
  type Verdict,
} from '../../commands/ports/submission-port.ts';
import { connectError } from '../mail/mail-errors.ts';

/** Fields nodemailer sets on its errors; all optional. */
export interface SmtpError {
  readonly code?: unknown;
  /** The socket's own code, where `code` is the client's. */
  readonly originalCode?: unknown;
  readonly responseCode?: unknown;
  readonly response?: unknown;
  readonly recipient?: unknown;
  readonly rejectedErrors?: unknown;
}

const fieldsOf = (error: unknown): SmtpError => (typeof error === 'object' && error !== null ? error : {});

/** RFC 5321 4.2.1: only 4yz and 5yz mean that the command was not done. */
const refusalOf = ({ responseCode }: SmtpError): number | null =>
  typeof responseCode === 'number' && responseCode >= 400 && responseCode < 600 ? responseCode : null;

/** Bounds the server's text: long enough for any help text. */
const MOST_RESPONSE_CHARS = 500;
export const responseText = (response: unknown): string | null =>
  typeof response === 'string'
    ? response.replaceAll(/[\p{Cc}\s]+/gu, ' ').slice(0, MOST_RESPONSE_CHARS)
    : null;

/** Recipients as the client lists them on an envelope or an error. */
export function refusedOf(errors: unknown): readonly RefusedRecipient[] {
  if (!Array.isArray(errors)) return [];
  return errors.map((error: unknown) => {
    const { recipient, responseCode, response } = fieldsOf(error);
    return {
      address: typeof recipient === 'string' ? recipient : '',
      smtpStatus: typeof responseCode === 'number' ? responseCode : 0,
      response: responseText(response) ?? '',
    };
  });
}

const failure = (
  message: string,
  error: unknown,
  facts: { readonly phase: SmtpPhase; readonly verdict: Verdict; readonly code: ErrorCode },
): SubmissionFailure => {
  const fields = fieldsOf(error);
  return new SubmissionFailure(
    message,
    {
      ...facts,
      smtpStatus: refusalOf(fields),
      response: responseText(fields.response),
      refused: refusedOf(fields.rejectedErrors),
    },
    error,
  );
};

/**
 * Nothing was reported about the message yet, so even a 5yz greeting may be temporary. Permanent are only a host that is
 * not allowed and a mailbox without the means to log in.
 */
export function connectFailure(error: unknown): SubmissionFailure {
  if (error instanceof SubmissionFailure) return error;
  const fields = fieldsOf(error);
  if (refusalOf(fields) !== null && fields.code !== 'ETLS') {
    const message = 'The mail server turned the connection away; it is tried again.';
    return failure(message, error, { phase: 'connect', verdict: 'later', code: 'mailbox_unavailable' });
  }
  const known = connectError(
    fields.originalCode === undefined ? error : { ...fields, code: fields.originalCode },
  );
  const isOver = known.code === 'target_blocked' || known.code === 'mailbox_auth_failed';
  return failure(known.message, error, {
    phase: 'connect',
    verdict: isOver ? 'never' : 'later',
    code: known.code,
  });
}

/** RFC 4954 6: 5yz rejects the credentials; 454 and similar codes are the server's own failures. */
export function loginFailure(error: unknown): SubmissionFailure {
  const status = refusalOf(fieldsOf(error));
  if (status === null) return connectFailure(error);
  return status >= 500
    ? failure('The mail server refuses the stored credentials; store new ones.', error, {
        phase: 'connect',
        verdict: 'never',
        code: 'mailbox_auth_failed',
      })
    : failure('The mail server accepts no logins at the moment; the send is retried.', error, {
        phase: 'connect',
        verdict: 'later',
        code: 'mailbox_unavailable',
      });
}

/** A refusal is the server's answer; a connection that broke before the message was sent has sent nothing. */
export const envelopeFailure = (error: unknown): SubmissionFailure =>
  refusedOrBroken(error, 'envelope', 'later');

/** Without the final dot a server has no message (RFC 5321 4.1.1.4); with it only the server's answer is proof. */
export const dataFailure = (error: unknown, isComplete: boolean): SubmissionFailure =>
  refusedOrBroken(error, 'data', isComplete ? 'unknown' : 'later');

/** The client finds the message larger than the server's SIZE allows. */
const isTooLarge = ({ code, responseCode }: SmtpError): boolean =>
  code === 'EMESSAGE' && responseCode === undefined;

function refusedOrBroken(error: unknown, phase: SmtpPhase, broken: 'later' | 'unknown'): SubmissionFailure {
  if (error instanceof SubmissionFailure) return error;
  const fields = fieldsOf(error);
  if (phase === 'envelope' && isTooLarge(fields)) {
    const message = 'The message is larger than the mail server takes.';
    return failure(message, error, { phase, verdict: 'never', code: 'payload_too_large' });
  }
  const status = refusalOf(fields);
  if (status === null) {
    // ESTREAM: the message itself could not be read to its end; not an error of the server.
    const code = fields.code === 'ESTREAM' ? 'store_unavailable' : 'mailbox_unavailable';
    return failure(BROKEN[broken], error, { phase, verdict: broken, code });
  }
  return status >= 500
    ? failure('The mail server refuses the message.', error, {
        phase,
        verdict: 'never',
        code: 'provider_rejected',
      })
    : failure('The mail server does not take the message just now.', error, {
        phase,
        verdict: 'later',
        code: 'mailbox_unavailable',
      });
}

const BROKEN = {
  later: 'The exchange with the mail server broke before the message was out.',
  unknown: 'The connection broke before the mail server said whether it took the message.',
};
