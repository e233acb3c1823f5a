/** One SMTP connection: each step is bounded in time, and settled by whichever comes first – its answer or the connection's end. */
import SMTPConnection, { type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection';

type Done<T> = (error: Error | null | undefined, result?: T) => void;

/** The one place where the client writes a command; its types omit it. */
interface CommandWriter {
  _sendCommand(command: string, logged?: string): void;
}

export class SmtpExchange {
  readonly client: SMTPConnection;
  readonly #ended = Promise.withResolvers<never>();

  constructor(options: SMTPConnectionOptions) {
    this.client = new SMTPConnection(options);
    this.client.on('error', (error: Error) => {
      this.#ended.reject(error);
    });
    this.client.on('end', () => {
      // The client closes some connections before it reports why: that reason takes precedence.
      setImmediate(() => {
        this.#ended.reject(Object.assign(new Error('the connection ended'), { code: 'ECONNECTION' }));
      });
    });
    // An end between two steps is reported to the next step.
    this.#ended.promise.catch(() => undefined);
  }

  /** Calls back when the connection has ended, even when it already has. */
  whenOver(callback: () => void): void {
    this.#ended.promise.catch(callback);
  }

  /**
   * Declares SMTPUTF8 with the next message: the client does so only for addresses of the envelope, and an address only in
   * the header needs it as well (RFC 6531 3.4).
   */
  declareUtf8(): void {
    const writer = this.client as unknown as CommandWriter;
    const write = writer._sendCommand.bind(writer);
    writer._sendCommand = (command, logged) => {
      const isBare = command.startsWith('MAIL FROM:') && !/ SMTPUTF8\b/.test(command);
      write(isBare ? `${command} SMTPUTF8` : command, logged);
    };
  }

  /** Runs one step of the client. Throws the error of the client or the socket. */
  async step<T>(withinMs: number, start: (done: Done<T>) => void): Promise<T | undefined> {
    const step = Promise.withResolvers<T | undefined>();
    start((error, result) => {
      if (error) step.reject(error);
      else step.resolve(result);
    });
    return await this.within(withinMs, Promise.race([step.promise, this.#ended.promise]));
  }

  /** Waits for a promise; on timeout the connection ends, which fails the current step. */
  async within<T>(withinMs: number, promise: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }));
      this.client.close();
    }, withinMs);
    try {
      return await Promise.race([promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
