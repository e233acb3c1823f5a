import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('a token revoked while a request body arrives', function () {
  this.timeout(60_000);
  let gateway: TestGateway;

  before(async () => {
    gateway = await startTestGateway();
  });
  after(() => gateway.stop());

  const issue = async (surface: 'rest' | 'mcp'): Promise<{ id: string; token: string }> => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const scopes = ['mailboxes:read'];
    const wanted = { name: 'Slow', surface, scopes, expires_at: expiresAt };
    const { body } = await gateway.rest('POST', '/tokens', wanted);
    return body as { id: string; token: string };
  };

  /** Sends head and half the body, waits until the request was let in, revokes, sends the rest; the status line. */
  const statusAfterRevocation = async (
    path: string,
    { id, token }: { id: string; token: string },
    body: string,
  ): Promise<string> => {
    const { hostname, port } = new URL(gateway.baseUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const lines = [
      `POST ${path} HTTP/1.1`,
      `Host: ${hostname}:${port}`,
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      `Content-Length: ${String(body.length)}`,
      'Connection: close',
    ];
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
    await eventually(async () => {
      const used = await gateway.gateway.ports.sql.query('select 1 from work.token_use where token_id = $1', [
        id,
      ]);
      expect(used).to.have.length(1);
    });
    expect((await gateway.rest('DELETE', `/tokens/${id}`)).status).to.equal(204);
    socket.write(body.slice(5));
    await once(socket, 'close');
    return answer.split('\r\n', 1)[0] ?? '';
  };

  it(`is refused over REST ${verifies('contract:2:revocation')}`, async () => {
    const body = JSON.stringify({ select: {} });
    const status = await statusAfterRevocation(
      '/api/v1/mailboxes/mbx_any/email.query',
      await issue('rest'),
      body,
    );
    expect(status).to.match(/^HTTP\/1\.1 401 /);
  });

  it(`is refused over MCP ${verifies('contract:2:revocation')}`, async () => {
    const clientInfo = { name: 'slow', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    const status = await statusAfterRevocation('/mcp', await issue('mcp'), body);
    expect(status).to.match(/^HTTP\/1\.1 401 /);
  });
});
