import { expect } from 'chai';
import { errorOf, stageMcp } from '../../support/worlds/mcp/mcp-stage.ts';
import { rpc } from '../../support/worlds/mcp/raw-mcp.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('the checks of /mcp in their order', () => {
  const stage = stageMcp();

  it(`refuse a foreign origin, and null, with 403 ${verifies('contract:13:http-errors', 'contract:13:http-channel')}`, async () => {
    for (const origin of ['http://evil.example', 'null']) {
      expect(await stage.refusal({ headers: { origin, authorization: undefined } })).to.deep.equal([
        403,
        'origin_not_allowed',
      ]);
    }
    expect(
      (await stage.inSession(rpc('ping'), { headers: { origin: 'http://good.example' } })).status,
    ).to.equal(200);
  });

  it(`refuse a missing or bad bearer with 401 and a challenge for every method ${verifies('contract:16:bearer', 'contract:13:http-channel')}`, async () => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answer = await stage.send({ method, headers: { authorization: undefined } });
      expect([answer.status, errorOf(answer).code]).to.deep.equal([401, 'unauthenticated']);
      expect(answer.headers.get('www-authenticate')).to.match(
        /^Bearer realm="mcp", resource_metadata="[^"]+\/\.well-known\/oauth-protected-resource\/mcp", scope="messages:read [^"]+"$/,
      );
    }
    const bad = await stage.send({ method: 'GET', bearer: 'bad' });
    expect(bad.headers.get('www-authenticate')).to.match(
      /^Bearer realm="mcp", error="invalid_token", resource_metadata="[^"]+", scope="[^"]+"$/,
    );
  });

  it(`refuse too many requests with 429 and Retry-After ${verifies('contract:13:http-channel', 'contract:15:rate-limits')}`, async () => {
    stage.served.gate.closed = true;
    const answer = await stage.send({ method: 'GET' });
    expect([answer.status, errorOf(answer).code]).to.deep.equal([429, 'rate_limited']);
    expect(answer.headers.get('retry-after')).to.equal('7');
  });

  it(`answer other methods with 405 and Allow ${verifies('contract:16:http-statuses')}`, async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'OPTIONS']) {
      const answer = await stage.send({ method, headers: { accept: 'text/event-stream' } });
      expect([answer.status, errorOf(answer).code]).to.deep.equal([405, 'method_not_allowed']);
      expect(answer.headers.get('allow')).to.equal('POST, DELETE');
    }
  });

  it(`require JSON (415) and both media types accepted (406) on POST ${verifies('contract:16:http-statuses', 'contract:16:accept-on-post', 'contract:16:accept')}`, async () => {
    const wrongType = { body: 'x', headers: { 'content-type': 'text/plain', accept: 'x/y' } };
    expect(await stage.refusal(wrongType)).to.deep.equal([415, 'unsupported_media_type']);
    expect(await stage.refusal({ body: 'x', headers: { accept: 'application/json' } })).to.deep.equal([
      406,
      'not_acceptable',
    ]);
  });

  it(`refuse more than 1 MiB with 413, announced or not ${verifies('contract:16:http-statuses', 'contract:15:body-size')}`, async () => {
    const large = `{"a":"${'x'.repeat(1_048_576)}"}`;
    expect(await stage.refusal({ body: large })).to.deep.equal([413, 'payload_too_large']);
    const chunks = new Blob([large]).stream();
    const init = { method: 'POST', body: chunks, duplex: 'half' } as const;
    const headers = { authorization: 'Bearer one', accept: '*/*', 'content-type': 'application/json' };
    expect((await fetch(stage.served.url, { ...init, headers })).status).to.equal(413);
  });

  it(`answer invalid JSON and invalid messages with 400 and a JSON-RPC error, with or without a session ${verifies('contract:16:json-rpc-codes')}`, async () => {
    const notJson = await stage.send({ body: '{"jsonrpc":' });
    expect([notJson.status, errorOf(notJson).code]).to.deep.equal([400, -32700]);
    for (const [message, id] of [
      [{ jsonrpc: '2.0', id: null, method: 'ping' }, undefined],
      [{ id: 3, method: 'ping' }, 3],
    ] as const) {
      const answer = await stage.inSession(message);
      expect([answer.status, errorOf(answer).code]).to.deep.equal([400, -32600]);
      expect((answer.body as { id?: unknown }).id).to.equal(id);
    }
  });

  it(`require the session header on everything except initialize ${verifies('contract:16:http-statuses', 'contract:16:session-header')}`, async () => {
    expect(await stage.refusal({ body: rpc('ping') })).to.deep.equal([400, 'invalid_request']);
    expect(
      await stage.refusal({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } }),
    ).to.deep.equal([400, 'invalid_request']);
    expect(await stage.refusal({ method: 'DELETE' })).to.deep.equal([400, 'invalid_request']);
  });

  it('answer an unknown session with 404 before they compare the version', async () => {
    const headers = { 'mcp-session-id': 'unknown', 'mcp-protocol-version': 'nonsense' };
    expect(await stage.refusal({ body: rpc('ping'), headers })).to.deep.equal([404, 'session_not_found']);
    expect(await stage.refusal({ method: 'DELETE', headers })).to.deep.equal([404, 'session_not_found']);
  });

  it(`require the header of the negotiated revision ${verifies('contract:16:http-statuses', 'contract:16:version-header')}`, async () => {
    for (const version of [undefined, '2025-06-18', '1999-01-01']) {
      const request = { body: rpc('ping'), headers: { ...stage.session, 'mcp-protocol-version': version } };
      expect(await stage.refusal(request)).to.deep.equal([400, 'protocol_version_unsupported']);
    }
  });
});
