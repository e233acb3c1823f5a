/** Reads, moves and sends at once, for the given time; everything acknowledged is recorded. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { callRest } from './gateway.ts';
import { plainMessage } from '../servers/mail-append.ts';
import type { MailRelay } from '../servers/mail-relay.ts';

export interface SoakOptions {
  readonly address: string;
  readonly token: string;
  readonly mailboxId: string;
  readonly relay: MailRelay;
  readonly user: string;
  /** What the gateway has logged at level error: the cause of an answer that is not expected. */
  readonly failures: () => string;
}

const PAUSE_MS = 20;
const GIVE_UP_MS = 90_000;
const READERS = 3;

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

export class SoakLoad {
  readonly #options: SoakOptions;
  readonly #stopping = new AbortController();
  readonly #work: Promise<void>[] = [];
  #failure: Error | null = null;
  /** Subjects of messages from outside. */
  readonly brought: string[] = [];
  /** Subjects of sends reported as completed, and ids of all drafts whose send was requested. */
  readonly sent: string[] = [];
  readonly drafts: string[] = [];
  archived = 0;
  answered = 0;
  disturbed = 0;

  constructor(options: SoakOptions) {
    this.#options = options;
  }

  start(): void {
    for (let n = 0; n < READERS; n += 1) this.#loop((turn) => this.#read(turn + n));
    this.#loop(() => this.#archive());
    this.#loop(() => this.#send());
  }

  /** Lets every worker finish what it began. Throws the first error of any of them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#work);
  }

  /** Throws the error that stopped a worker, if any. */
  assertUnhurt(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  #loop(work: (turn: number) => Promise<void>): void {
    const run = async (): Promise<void> => {
      for (let turn = 0; !this.#stopping.signal.aborted; turn += 1) {
        await work(turn);
        await delay(PAUSE_MS);
      }
    };
    const running = run();
    running.catch((error: unknown) => {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
    });
    this.#work.push(running);
  }

  async #read(turn: number): Promise<void> {
    const { mailboxId } = this.#options;
    const path = `/mailboxes/${mailboxId}`;
    const filters = [{}, { seen: false }, { subject_contains: 'soak' }, { from_domain: 'example.org' }];
    const select = { folder: turn % 2 === 0 ? 'inbox' : 'all', filter: filters[turn % filters.length] };
    const { body } = await this.#settled(['POST', `${path}/email.query`, { select }]);
    const [first] = (body as { items: readonly { id: string }[] }).items;
    if (first === undefined) return;
    const message = await this.#call(['GET', `${path}/messages/${first.id}?include_body=text`]);
    // Another worker may have moved it meanwhile.
    if (![200, 404, 409].includes(message.status)) throw new Error(JSON.stringify(message.body));
  }

  async #archive(): Promise<void> {
    const { relay, user, mailboxId } = this.#options;
    const subject = `soak brought ${randomUUID()}`;
    relay.bring(user, plainMessage({ subject, id: `<${randomUUID()}@example.org>` }));
    this.brought.push(subject);
    const path = `/mailboxes/${mailboxId}`;
    const select = { folder: 'inbox', filter: { subject_contains: subject } };
    for (;;) {
      const { body } = await this.#settled(['POST', `${path}/email.query`, { select }]);
      const [found] = (body as { items: readonly { id: string }[] }).items;
      if (found !== undefined) {
        const key = randomUUID();
        const { body: reply } = await this.#settled(
          ['POST', `${path}/archive`, { message_ids: [found.id] }],
          key,
        );
        this.archived += (reply as { summary: { done: number } }).summary.done;
        return;
      }
      if (this.#stopping.signal.aborted) return;
      await delay(PAUSE_MS);
    }
  }

  async #send(): Promise<void> {
    const { mailboxId, user } = this.#options;
    const subject = `soak sent ${randomUUID()}`;
    const draft = { to: [{ email: `${user}@example.com` }], subject, text: 'One of many.' };
    const started = await this.#settled(['POST', `/mailboxes/${mailboxId}/start_draft`, draft], randomUUID());
    const { id } = started.body as { id: string };
    this.drafts.push(id);
    const reply = await this.#settled(['POST', `/drafts/${id}/send_draft`, {}], randomUUID());
    if ((reply.body as { status: string }).status === 'completed') this.sent.push(subject);
  }

  /** An answer of 2xx, however often the request must be repeated. */
  async #settled(request: readonly [string, string, unknown?], key?: string): Promise<Answered> {
    const answer = await this.#call(request, key);
    if (answer.status < 300) return answer;
    const { failures } = this.#options;
    throw new Error(`${request.slice(0, 2).join(' ')}: ${JSON.stringify(answer.body)}\n${failures()}`);
  }

  /** Repeats the request with the same key until the answer is final. */
  async #call(request: readonly [string, string, unknown?], key?: string): Promise<Answered> {
    const { address, token } = this.#options;
    const giveUpAt = performance.now() + GIVE_UP_MS;
    for (;;) {
      const answer = await callRest(address, request, { token, ...(key !== undefined && { key }) });
      const { error } = (answer.body ?? {}) as { error?: { retryable?: boolean } };
      if (error?.retryable !== true || performance.now() > giveUpAt) {
        this.answered += 1;
        return answer;
      }
      this.disturbed += 1;
      await delay(PAUSE_MS * 5);
    }
  }
}
