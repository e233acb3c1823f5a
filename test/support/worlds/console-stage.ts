/** The console in a real browser, before scripted answers: for what a real gateway answers seldom, or late, or not at all. */
import { once } from 'node:events';
import type http from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { type ConsoleFacts, consoleRouter } from '../../../infra/http/console-router.ts';
import { ROLE_SCOPES } from '../../../commands/values/scopes.ts';
import type { BrowserPerson, TestBrowser } from '../servers/browser.ts';

export interface Asked {
  readonly query: Readonly<Record<string, unknown>>;
  readonly key: string | undefined;
  readonly body: unknown;
}

class Refusal {
  readonly code: string;
  readonly status: number;

  constructor(code: string, status: number) {
    this.code = code;
    this.status = status;
  }
}

/** A body with 200, a refusal, or no answer at all. */
export type Answer = Readonly<Record<string, unknown>> | Refusal | 'lost';
type Answers = (asked: Asked) => Answer | Promise<Answer>;

export const OWNER = { id: 'usr_1', name: 'Olga Owner', email: 'owner@example.com' };
export const listOf = (...items: readonly object[]) => ({ items, page: { next_cursor: null } });
export const refused = (code: string, status = 403): Refusal => new Refusal(code, status);

export class ConsoleStage {
  readonly person: BrowserPerson;
  readonly url: string;
  readonly #server: http.Server;
  readonly #answers = new Map<string, Answers>();
  readonly #asked = new Map<string, Asked[]>();

  private constructor(server: http.Server, url: string, person: BrowserPerson) {
    this.#server = server;
    this.url = url;
    this.person = person;
    this.reset();
  }

  static async start(browser: TestBrowser, facts: ConsoleFacts): Promise<ConsoleStage> {
    const app = express().use('/console', consoleRouter(facts)).use('/api/v1', express.json());
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const person = await browser.newPerson(url);
    await person.context.addInitScript("sessionStorage.setItem('mailbox-gateway.session', 'bearer')");
    await person.page.clock.install();
    const stage = new ConsoleStage(server, url, person);
    app.use('/api/v1', (request, response) => void stage.#handle(request, response));
    return stage;
  }

  /** The owner alone, without anything. */
  reset(): void {
    this.#answers.clear();
    const org = { id: 'org_1', name: 'First' };
    const me = { ...OWNER, is_verified: true, notifications: 'each', organisations: [{ ...org, role: 'owner', erase_at: null }] }; // prettier-ignore
    this.answer('GET /auth/session', { user: OWNER, org, role: 'owner' });
    this.answer('GET /users/me', me);
    this.answer('GET /identity', identity());
  }

  /** From now on, what the console asks for is answered so. */
  answer(asked: string, answer: Answer | Answers): void {
    this.#answers.set(asked, typeof answer === 'function' ? answer : () => answer);
  }

  /** What it has asked for so far, in order. */
  asked(what: string): readonly Asked[] {
    return this.#asked.get(what) ?? [];
  }

  /** Opens the page anew at this address. */
  async open(hash: string): Promise<void> {
    this.#asked.clear();
    await this.person.page.goto('about:blank');
    await this.person.page.goto(`${this.url}/console${hash}`);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #handle(request: express.Request, response: express.Response): Promise<void> {
    const what = `${request.method} ${request.path}`;
    const asked = {
      query: request.query,
      key: request.get('idempotency-key'),
      body: request.body as unknown,
    };
    this.#asked.set(what, [...this.asked(what), asked]);
    const answer = await (this.#answers.get(what)?.(asked) ?? listOf());
    if (answer === 'lost') lose(response);
    else if (answer instanceof Refusal) refuse(response, answer);
    else response.json(answer);
  }
}

/** It breaks off within the body: before it, a browser may ask again by itself. */
const lose = (response: express.Response): void => {
  response.writeHead(200, { 'Content-Length': '2' }).write('{', () => response.destroy());
};

const refuse = (response: express.Response, { status, code }: Refusal): void => {
  const error = { code, message: 'It was refused.', request_id: 'req_1', details: {} };
  response.status(status).json({ error });
};

/** The owner, with these mailboxes. */
export const identity = (...mailboxes: readonly object[]) => ({
  token: { scopes: ROLE_SCOPES.owner },
  mailboxes,
});
