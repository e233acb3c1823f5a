/** The submission port on SMTP: a connection per message, the egress guard before each, a few at once per mailbox. */
import type { ConnectionReport, HostSettings, MailLogin } from '../../commands/ports/mail-port.ts';
import type { ErrorCode } from '../../commands/values/errors.ts';
import {
  type Submission,
  SubmissionFailure,
  type SubmissionPort,
} from '../../commands/ports/submission-port.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import type { LoginOptions } from '../mail/imap-login.ts';
import { reportLogin } from '../mail/test-login.ts';
import { type LoadSettings, withRenewedLogin } from '../mail/renewed-login.ts';
import { connectFailure } from './smtp-failures.ts';
import { type OpenExchange, openExchange } from './smtp-login.ts';
import { type SubmissionLimits, SmtpSubmission } from './smtp-submission.ts';

export interface SubmissionSettings {
  /** Null for a mailbox that only reads. */
  readonly smtp: HostSettings | null;
  readonly login: MailLogin;
}

export interface SmtpGatewayOptions {
  /** The server and login a mailbox sends with, read again for each connection. May throw a `GatewayError`. */
  readonly loadSettings: LoadSettings<SubmissionSettings>;
  readonly login: LoginOptions;
  /** Concurrent connections to the server of one mailbox. */
  readonly atOnce: number;
  readonly limits?: Partial<SmtpLimits>;
}

export interface SmtpLimits extends SubmissionLimits {
  /** How long a send waits for its turn. */
  readonly waitMs: number;
}

/** `contract.md` 15. */
const LIMITS: SmtpLimits = { phaseTimeoutMs: 60_000, messageTimeoutMs: 600_000, waitMs: 60_000 };

export class SmtpGateway implements SubmissionPort {
  readonly #options: SmtpGatewayOptions;
  readonly #limits: SmtpLimits;
  readonly #slots = new Map<string, Semaphore>();

  constructor(options: SmtpGatewayOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  async connect(mailboxId: string): Promise<Submission> {
    const slots = this.#slots.get(mailboxId) ?? new Semaphore(this.#options.atOnce);
    this.#slots.set(mailboxId, slots);
    if (!(await slots.acquire(this.#limits.waitMs))) throw busy();
    try {
      const { exchange, extensions } = await this.#open(mailboxId);
      exchange.whenOver(() => {
        slots.release();
      });
      return new SmtpSubmission(exchange, extensions, this.#limits);
    } catch (error) {
      slots.release();
      throw error;
    }
  }

  testLogin(settings: HostSettings, login: MailLogin): Promise<ConnectionReport> {
    const { login: options } = this.#options;
    return reportLogin(async () => {
      try {
        const { exchange } = await openExchange(settings, login, options, options.connectTimeoutMs);
        exchange.client.quit();
      } catch (error) {
        // The client's error tells the stage; its meaning for a send does not matter here.
        throw error instanceof SubmissionFailure ? error.cause : error;
      }
    });
  }

  async #open(mailboxId: string): Promise<OpenExchange> {
    const { login: options, loadSettings } = this.#options;
    try {
      return await withRenewedLogin(mailboxId, loadSettings, ({ smtp, login }) => {
        if (smtp === null) throw withoutServer();
        return openExchange(smtp, login, options, this.#limits.phaseTimeoutMs);
      });
    } catch (error) {
      throw connectFailure(error);
    }
  }
}

const refusal = (message: string, verdict: 'later' | 'never', code: ErrorCode): SubmissionFailure =>
  new SubmissionFailure(message, {
    phase: 'connect',
    verdict,
    code,
    smtpStatus: null,
    response: null,
    refused: [],
  });

const busy = (): SubmissionFailure =>
  refusal('Too many messages of this mailbox are being sent; it is tried again.', 'later', 'overloaded');

const withoutServer = (): SubmissionFailure =>
  refusal('This mailbox has no submission server; give it one with PATCH.', 'never', 'operation_unsupported');
