/** Calls about drafts over both faces, for tests. */
import { once } from 'node:events';
import http from 'node:http';
import { expect } from 'chai';
import type { HostSettings } from '../../commands/ports/mail-port.ts';
import {
  type Answer,
  type CallOptions,
  eventually,
  type Json,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { callOf, helloOf, rawMcp } from '../support/worlds/mcp/raw-mcp.ts';

export class DraftCalls {
  readonly #gateway: TestGateway;
  readonly #mailboxId: string;
  #keys = 0;
  #session: string | null = null;

  constructor(gateway: TestGateway, mailboxId: string) {
    this.#gateway = gateway;
    this.#mailboxId = mailboxId;
  }

  newKey(): string {
    this.#keys += 1;
    return `draft-${String(this.#keys)}`;
  }

  post(path: string, body: object, options: CallOptions = {}): Promise<Answer> {
    return this.#gateway.rest('POST', path, body, { key: this.newKey(), ...options });
  }

  start(body: object, options?: CallOptions): Promise<Answer> {
    return this.post(`/mailboxes/${this.#mailboxId}/start_draft`, body, options);
  }

  reply(body: object, options?: CallOptions): Promise<Answer> {
    return this.post(`/mailboxes/${this.#mailboxId}/reply_to_thread`, body, options);
  }

  /** The draft started; fails when it is refused. */
  async started(body: object): Promise<Json> {
    const answer = await this.start(body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body;
  }

  async get(path: string): Promise<Json> {
    return (await this.#gateway.rest('GET', path)).body;
  }

  upload(draftId: string, bytes: Uint8Array, type: string, query = ''): Promise<Response> {
    return fetch(`${this.#gateway.baseUrl}/api/v1/drafts/${draftId}/attachments${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#gateway.tokens.restToken}`, 'content-type': type },
      body: Buffer.from(bytes),
    });
  }

  /** The status that an upload of so many bytes meets before the first one is sent. */
  async announce(draftId: string, bytes: number): Promise<number> {
    const request = http.request(`${this.#gateway.baseUrl}/api/v1/drafts/${draftId}/attachments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#gateway.tokens.restToken}`, 'content-length': bytes },
    });
    request.flushHeaders();
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    request.destroy();
    return response.statusCode ?? 0;
  }

  /** A token of the owner with these scopes only. */
  async tokenWith(scopes: readonly string[]): Promise<string> {
    const wanted = { name: 'narrow', surface: 'rest', scopes, expires_at: new Date(Date.now() + 3_600_000) };
    const principal = await this.get('/identity');
    const { body } = await this.#gateway.rest('POST', '/tokens', {
      ...wanted,
      principal_id: principal.principal.id,
    });
    return body.token as string;
  }

  /** Puts a message into the inbox and waits until it is found. */
  async receive(imap: HostSettings, user: string, raw: string, word: string): Promise<Json> {
    await appendMessages(imap, user, [{ raw }]);
    return await eventually(async () => {
      const select = { filter: { subject_contains: word } };
      const path = `/mailboxes/${this.#mailboxId}/email.query`;
      const { body } = await this.#gateway.rest('POST', path, { select, view: 'full' });
      expect(body.items).to.have.length(1);
      return body.items[0];
    });
  }

  /** A tool call as the agent; the tool result. */
  async tool(name: string, args: object): Promise<{ isError?: boolean; structuredContent: Json }> {
    const url = `${this.#gateway.baseUrl}/mcp`;
    const bearer = this.#gateway.tokens.mcpToken;
    if (this.#session === null) {
      const hello = await rawMcp(url, { bearer, body: helloOf('2025-11-25') });
      this.#session = hello.headers.get('mcp-session-id');
    }
    const headers = { 'mcp-session-id': this.#session ?? '', 'mcp-protocol-version': '2025-11-25' };
    const { body } = await rawMcp(url, { bearer, headers, body: callOf(name, args) });
    const { result, error } = body as Json;
    expect(error, JSON.stringify(error)).to.equal(undefined);
    return result;
  }
}
