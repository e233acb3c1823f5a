import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { Origins } from '../../../../read-api/http/origin.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const origins = new Origins('https://gateway.example/mail', ['https://app.example', 'http://localhost:5173']);

function exchange(headers: Record<string, string>, method = 'GET') {
  const request = new IncomingMessage(new Socket());
  Object.assign(request.headers, headers);
  request.method = method;
  return { request, response: new ServerResponse(request) };
}

function checked(origin: string): ServerResponse {
  const { request, response } = exchange({ origin });
  origins.check(request, response);
  return response;
}

describe('Origins', () => {
  it('accepts a request without an origin, which is not from a browser', () => {
    const { request, response } = exchange({});
    origins.check(request, response);
    expect(response.hasHeader('access-control-allow-origin')).to.equal(false);
    expect(response.getHeader('vary')).to.equal('Origin');
  });

  it(`accepts its own and the listed origins, and names them in the answer ${verifies('contract:16:cors')}`, () => {
    for (const origin of ['https://gateway.example', 'https://app.example', 'http://localhost:5173']) {
      const response = checked(origin);
      expect(response.getHeader('access-control-allow-origin')).to.equal(origin);
      expect(String(response.getHeader('access-control-expose-headers')).split(', ')).to.include.members([
        'Mcp-Session-Id',
        'Request-Id',
        'WWW-Authenticate',
        'RateLimit',
      ]);
      expect(response.hasHeader('access-control-allow-credentials')).to.equal(false);
    }
  });

  it(`refuses every other origin, null too ${verifies('contract:16:origin')}`, () => {
    const others = [
      'null',
      '',
      'https://evil.example',
      'http://gateway.example',
      'https://gateway.example:8443',
      'https://gateway.example.evil.example',
      'https://gateway.example/',
      'HTTPS://APP.EXAMPLE',
      'http://localhost:5174',
      'https://app.example, https://evil.example',
    ];
    for (const origin of others) {
      const { request, response } = exchange({ origin });
      const refusal = thrown(() => {
        origins.check(request, response);
      });
      expect(refusal.code, origin).to.equal('origin_not_allowed');
      expect(response.hasHeader('access-control-allow-origin')).to.equal(false);
    }
  });

  it('answers a preflight itself, and no other request', () => {
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'PUT' };
    const { request, response } = exchange(preflight, 'OPTIONS');
    expect(origins.answerPreflight(request, response)).to.equal(true);
    expect(response.statusCode).to.equal(204);
    expect(String(response.getHeader('access-control-allow-methods')).split(', ')).to.include('PUT');
    expect(String(response.getHeader('access-control-allow-headers')).split(', ')).to.include.members([
      'Authorization',
      'Content-Type',
      'Idempotency-Key',
      'If-Match',
      'Mcp-Session-Id',
      'Mcp-Method',
      'Mcp-Name',
    ]);
    for (const [headers, method] of [
      [preflight, 'PUT'],
      [{ origin: 'https://app.example' }, 'OPTIONS'],
      [{ 'access-control-request-method': 'PUT' }, 'OPTIONS'],
    ] as const) {
      const other = exchange({ ...headers }, method);
      expect(origins.answerPreflight(other.request, other.response)).to.equal(false);
      expect(other.response.headersSent).to.equal(false);
    }
  });
});
