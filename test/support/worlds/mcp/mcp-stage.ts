/** One served endpoint per test file, a fresh session per test, and the usual requests. */
import { expect } from 'chai';
import { openSession, type RawAnswer, rawMcp, type RawRequest } from './raw-mcp.ts';
import { sampleCaller } from './sample-caller.ts';
import { type ServedMcp, serveMcp } from './serve-mcp.ts';
import type { ServerInfo } from '../../../../commands/ports/ports.ts';

interface ErrorAnswer {
  readonly error: { code: string | number; status?: number; request_id?: string };
}

/** The error of an answer, the gateway's own or JSON-RPC's. */
export const errorOf = ({ body }: RawAnswer): ErrorAnswer['error'] => (body as ErrorAnswer).error;

export class McpStage {
  #served: ServedMcp | null = null;
  /** Headers of the session of this test: revision 2025-11-25, bearer `one`. */
  session: Record<string, string> = {};

  get served(): ServedMcp {
    if (!this.#served) throw new Error('the endpoint is not served yet');
    return this.#served;
  }

  send(request: RawRequest): Promise<RawAnswer> {
    return rawMcp(this.served.url, request);
  }

  inSession(body: unknown, more: RawRequest = {}): Promise<RawAnswer> {
    return this.send({ ...more, body, headers: { ...this.session, ...more.headers } });
  }

  open(revision: string, bearer = 'one'): Promise<Record<string, string>> {
    return openSession(this.served.url, revision, bearer);
  }

  /** Status and code of a refusal; asserts that it is the service's own error body. */
  async refusal(request: RawRequest): Promise<[number, string | number]> {
    const answer = await this.send(request);
    const { code, status, request_id } = errorOf(answer);
    expect(status).to.equal(answer.status);
    expect(request_id).to.equal(answer.headers.get('request-id'));
    return [answer.status, code];
  }

  async start(server: Partial<ServerInfo>): Promise<void> {
    const served = await serveMcp(server);
    served.gate.callers.set('one', sampleCaller());
    served.gate.callers.set('narrow', sampleCaller({ tokenId: 'tok_2', scopes: ['messages:read'] }));
    served.gate.callers.set('other-principal', sampleCaller({ principalId: 'agt_2' }));
    served.gate.callers.set('other-org', sampleCaller({ orgId: 'org_2' }));
    this.#served = served;
  }

  async prepare(): Promise<void> {
    this.session = await this.open('2025-11-25');
    this.served.gate.counted.length = 0;
  }

  /** Asserts that no request is left running after the test. */
  settle(): void {
    const { gate, sessions, faults } = this.served;
    expect(gate.atWork).to.equal(0);
    gate.closed = false;
    gate.writesClosed = false;
    sessions.failure = null;
    faults.accessLogAway = false;
  }
}

/** To be called inside a `describe`: serves before its tests and ends after them. */
export function stageMcp(server: Partial<ServerInfo> = {}): McpStage {
  const stage = new McpStage();
  before(() => stage.start(server));
  beforeEach(() => stage.prepare());
  afterEach(() => {
    stage.settle();
  });
  after(() => stage.served.close());
  return stage;
}
