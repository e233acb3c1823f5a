/** The `Submission` port on nodemailer's client: the message is passed as a stream that stays empty until it is released. */
import type {
  SMTPConnectionEnvelope,
  SMTPConnectionSendInfo,
  SMTPEnvelope,
} from 'nodemailer/lib/smtp-connection';
import {
  type Acceptance,
  type MessageTraits,
  type RefusedRecipient,
  type SmtpEnvelope,
  type Submission,
  SubmissionFailure,
} from '../../commands/ports/submission-port.ts';
import type { SmtpExchange } from './smtp-exchange.ts';
import { dataFailure, envelopeFailure, refusedOf, responseText } from './smtp-failures.ts';
import { once } from 'node:events';
import { Readable } from 'node:stream';

export interface SubmissionLimits {
  /** For connecting, logging in, the envelope and the answer to the message, each (`contract.md` 15). */
  readonly phaseTimeoutMs: number;
  /** For the message itself, which may take long on a slow line; silence ends it after `phaseTimeoutMs`. */
  readonly messageTimeoutMs: number;
}

export class SmtpSubmission implements Submission {
  readonly #exchange: SmtpExchange;
  readonly #limits: SubmissionLimits;
  readonly #extensions: ReadonlySet<string>;
  readonly #source = new MessageSource();
  #outcome: Promise<SMTPConnectionSendInfo | undefined> | null = null;
  #isOver = false;

  constructor(exchange: SmtpExchange, extensions: ReadonlySet<string>, limits: SubmissionLimits) {
    this.#exchange = exchange;
    this.#extensions = extensions;
    this.#limits = limits;
  }

  async begin(
    wanted: SmtpEnvelope,
    { size, needsSmtpUtf8 }: MessageTraits,
  ): Promise<readonly RefusedRecipient[]> {
    if (needsSmtpUtf8 && !this.#extensions.has('SMTPUTF8')) throw withoutUtf8();
    if (needsSmtpUtf8) this.#exchange.declareUtf8();
    const envelope: SMTPEnvelope = {
      from: wanted.from,
      to: [...wanted.to],
      size,
      use8BitMime: needsSmtpUtf8,
    };
    const { phaseTimeoutMs, messageTimeoutMs } = this.#limits;
    const { client } = this.#exchange;
    const outcome = this.#exchange.step<SMTPConnectionSendInfo>(
      2 * phaseTimeoutMs + messageTimeoutMs,
      (done) => {
        client.send(envelope, this.#source, done);
      },
    );
    // Awaited by `transmit`, which may never be called.
    outcome.catch(() => undefined);
    this.#outcome = outcome;
    try {
      await this.#exchange.within(phaseTimeoutMs, Promise.race([this.#source.asked, outcome]));
    } catch (error) {
      this.close();
      throw envelopeFailure(error);
    }
    // The client writes its results on the envelope it was given.
    return refusedOf((envelope as SMTPConnectionEnvelope).rejectedErrors);
  }

  async transmit(content: AsyncIterable<Uint8Array>): Promise<Acceptance> {
    const outcome = this.#outcome;
    if (outcome === null) throw new Error('a message is transmitted after its envelope');
    try {
      const { phaseTimeoutMs, messageTimeoutMs } = this.#limits;
      const fed = this.#exchange.within(messageTimeoutMs, this.#source.feed(content));
      const answered = fed.then(() => this.#exchange.within(phaseTimeoutMs, outcome));
      const info = await Promise.race([outcome, answered]);
      if (info === undefined || !this.#source.isComplete) throw new Error('an answer before its question');
      // The logout is not awaited: whether the server receives it changes nothing.
      this.#isOver = true;
      this.#exchange.client.quit();
      return {
        response: responseText(info.response) ?? '',
        replacedMessageId: info.serverMessageId ?? null,
      };
    } catch (error) {
      throw dataFailure(error, this.#source.isComplete);
    } finally {
      this.close();
    }
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#source.destroy();
    this.#exchange.client.close();
  }
}

const withoutUtf8 = (): SubmissionFailure =>
  new SubmissionFailure('The mail server does not accept addresses beyond ASCII (no SMTPUTF8).', {
    phase: 'envelope',
    verdict: 'never',
    code: 'operation_unsupported',
    smtpStatus: null,
    response: null,
    refused: [],
  });

/** A message passed to the SMTP client before its bytes may be sent: they follow once the server asked and the caller agreed. */
export class MessageSource extends Readable {
  readonly #asked = Promise.withResolvers<undefined>();
  #isComplete = false;

  /** Resolves at the client's first read, which happens only after the server's 354. */
  get asked(): Promise<undefined> {
    return this.#asked.promise;
  }

  /** True once the last byte was handed over: from then on the final dot may be on its way. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  override _read(): void {
    this.#asked.resolve(undefined);
    this.emit('wanted');
  }

  /** Delivers the bytes as fast as they are read. Content that fails ends the source with that error, before its end. */
  async feed(content: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of content) {
        if (this.destroyed) return;
        if (!this.push(chunk)) await Promise.race([once(this, 'wanted'), once(this, 'close')]);
      }
    } catch (error) {
      // A new error each time: the client writes on those it is given.
      this.destroy(new Error('the message could not be read', { cause: error }));
      return;
    }
    if (this.destroyed) return;
    this.#isComplete = true;
    this.push(null);
  }
}
