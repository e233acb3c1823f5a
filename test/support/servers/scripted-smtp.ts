/** An SMTP server that answers and disconnects by a script, and records what it really accepted. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export type SmtpStage = 'greeting' | 'ehlo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'body' | 'dot';

/**
 * A reply line, or a fault: `drop` closes the connection instead of answering, `hang` never answers. After
 * the final dot `accept-and-drop` and `accept-and-hang` accept the message first.
 */
export type SmtpReply = string;

/** The answer at a stage; undefined = a good server's. `count`: times the stage was reached, from 1. */
export type SmtpScript = Partial<Record<SmtpStage, (line: string, count: number) => SmtpReply | undefined>>;

export interface AcceptedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
}

const GOOD: Readonly<Record<Exclude<SmtpStage, 'body' | 'ehlo'>, string>> = {
  greeting: '220 mail.example.com ESMTP',
  starttls: '502 5.5.1 not implemented',
  auth: '235 2.7.0 welcome',
  mail: '250 2.1.0 sender ok',
  rcpt: '250 2.1.5 recipient ok',
  data: '354 go ahead',
  dot: '250 2.0.0 queued as 42',
};

/** An empty line continues AUTH after a 334. */
const STAGE_OF: Readonly<Record<string, SmtpStage>> = {
  EHLO: 'ehlo',
  STARTTLS: 'starttls',
  AUTH: 'auth',
  '': 'auth',
  MAIL: 'mail',
  RCPT: 'rcpt',
  DATA: 'data',
};

export class ScriptedSmtp {
  /** May be changed between two connections. */
  script: SmtpScript = {};
  extensions: readonly string[] = ['AUTH PLAIN LOGIN XOAUTH2', 'SIZE 26214400', '8BITMIME', 'SMTPUTF8'];
  readonly accepted: AcceptedMail[] = [];
  /** Every command line of every connection, without the lines of messages. */
  readonly commands: string[] = [];
  readonly #server: Server;
  readonly #counts = new Map<SmtpStage, number>();
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      new Exchange(this, socket);
    });
  }

  static async start(): Promise<ScriptedSmtp> {
    const server = createServer({ noDelay: true });
    const scripted = new ScriptedSmtp(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return scripted;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Commands of one verb, as sent. */
  sent(verb: string): readonly string[] {
    return this.commands.filter((line) => line.toUpperCase().startsWith(verb));
  }

  reply(stage: SmtpStage, line: string): SmtpReply | undefined {
    const count = (this.#counts.get(stage) ?? 0) + 1;
    this.#counts.set(stage, count);
    const scripted = this.script[stage]?.(line, count);
    if (scripted !== undefined || stage === 'body') return scripted;
    return stage === 'ehlo' ? this.#ehlo() : GOOD[stage];
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #ehlo(): string {
    const lines = ['mail.example.com', ...this.extensions];
    return lines.map((line, at) => `250${at === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n');
  }
}

class Exchange {
  readonly #server: ScriptedSmtp;
  readonly #socket: Socket;
  #buffer = '';
  #from = '';
  #to: string[] = [];
  /** Lines of the message; null outside of one. */
  #body: string[] | null = null;

  constructor(server: ScriptedSmtp, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (chunk) => {
      this.#buffer += String(chunk);
      this.#readLines();
    });
    this.#say('greeting', '');
  }

  #readLines(): void {
    for (let end = this.#buffer.indexOf('\r\n'); end >= 0; end = this.#buffer.indexOf('\r\n')) {
      const line = this.#buffer.slice(0, end);
      this.#buffer = this.#buffer.slice(end + 2);
      if (this.#socket.destroyed) return;
      if (this.#body === null) this.#command(line);
      else this.#bodyLine(line, this.#body);
    }
  }

  #command(line: string): void {
    this.#server.commands.push(line);
    const verb = line.split(' ')[0]?.toUpperCase() ?? '';
    const stage = STAGE_OF[verb];
    if (verb === 'QUIT') this.#socket.end('221 2.0.0 bye\r\n');
    else if (verb === 'DATA' && this.#to.length === 0) this.#socket.write('503 5.5.1 nobody to send to\r\n');
    else if (stage === undefined) this.#socket.write('500 5.5.2 what\r\n');
    else if (this.#say(stage, line)) this.#note(stage, line);
  }

  #note(stage: SmtpStage, line: string): void {
    if (stage === 'mail') {
      this.#from = addressIn(line);
      this.#to = [];
    }
    if (stage === 'rcpt') this.#to.push(addressIn(line));
    if (stage === 'data') this.#body = [];
  }

  #bodyLine(line: string, body: string[]): void {
    if (line !== '.') {
      body.push(line.startsWith('.') ? line.slice(1) : line);
      if (this.#server.script.body) this.#say('body', line);
      return;
    }
    this.#body = null;
    const reply = this.#server.reply('dot', line) ?? '';
    if (reply.startsWith('2') || reply.startsWith('accept')) {
      this.#server.accepted.push({ from: this.#from, to: this.#to, raw: `${body.join('\r\n')}\r\n` });
    }
    this.#perform(reply);
  }

  /** True when a good answer was given. */
  #say(stage: SmtpStage, line: string): boolean {
    const reply = this.#server.reply(stage, line);
    if (reply === undefined) return true;
    this.#perform(reply);
    return /^[23]/.test(reply);
  }

  #perform(reply: SmtpReply): void {
    if (reply.endsWith('drop')) this.#socket.destroy();
    else if (!reply.endsWith('hang')) this.#socket.write(`${reply}\r\n`);
  }
}

const addressIn = (line: string): string => /<([^>]*)>/.exec(line)?.[1] ?? '';
