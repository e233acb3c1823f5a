import http from 'node:http';
import { expect } from 'chai';
import {
  type Answer,
  errorOf,
  issuePaths,
  type RestStage,
  startRestStage,
} from '../../support/worlds/rest/rest-stage.ts';
import { exchange } from '../../support/servers/raw-http.ts';
import { verifies } from '../../support/suite/verifies.ts';

const MAX_BYTES = 1_048_576;
const nested = (depth: number): string => `{"text":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

describe('bad requests on REST', () => {
  let stage: RestStage;

  before(async () => {
    stage = await startRestStage({ readsPerMinute: 10_000, writesPerMinute: 10_000 });
  });
  beforeEach(() => {
    for (const list of [stage.recorded, stage.counted, stage.lines]) list.length = 0;
  });
  after(() => stage.close());

  const refused = (answer: Answer): unknown[] => {
    const { code, status, request_id } = errorOf(answer);
    expect(status).to.equal(answer.status);
    expect(request_id).to.equal(answer.headers['request-id']);
    return [status, code];
  };
  const invalid = (answer: Answer): string[] => {
    expect(refused(answer)).to.deep.equal([400, 'invalid_request']);
    return issuePaths(answer);
  };

  it(`are refused for unknown fields in body and query by their path ${verifies('contract:0:unknown-fields')}`, async () => {
    expect(invalid(await stage.call('POST', '/notes', { body: { txt: 1, text: 2 } }))).to.deep.equal(['txt']);
    expect(invalid(await stage.call('GET', '/notes/n?limti=1'))).to.deep.equal(['limti']);
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(invalid(await stage.call('GET', `/notes/n?${name}=1`)), name).to.deep.equal([name]);
      const body = `{"text":"a","${name}":{"x":1}}`;
      expect(invalid(await stage.call('POST', '/notes', { body })), name).to.deep.equal([name]);
    }
  });

  it(`are answered with the place of the error, never its value ${verifies('contract:13:issues')}`, async () => {
    const answer = await stage.call('PATCH', '/notes/n', { body: { text: { secret: 'swordfish' } } });
    expect(invalid(answer)).to.deep.equal(['text']);
    expect(answer.text).not.to.include('swordfish');
  });

  it('have query strings coerced by the schema, and nothing else', async () => {
    const { json } = await stage.call('GET', '/notes/n?limit=20&unread=false&kinds=a,b&kinds=c&text=5');
    expect(json?.['input']).to.deep.equal({
      note_id: 'n',
      limit: 20,
      unread: false,
      kinds: ['a', 'b', 'c'],
      text: '5',
    });
    for (const query of ['limit=2.5', 'limit=1e2', 'limit=', 'limit=0x10', 'limit=201', 'limit=%2010']) {
      expect(invalid(await stage.call('GET', `/notes/n?${query}`)), query).to.deep.equal(['limit']);
    }
    for (const query of ['unread=1', 'unread=TRUE', 'unread=']) {
      expect(invalid(await stage.call('GET', `/notes/n?${query}`)), query).to.deep.equal(['unread']);
    }
    expect(invalid(await stage.call('PATCH', '/notes/n', { body: { text: 5 } }))).to.deep.equal(['text']);
  });

  it('are refused when a field is repeated', async () => {
    expect(invalid(await stage.call('GET', '/notes/n?limit=1&limit=2'))).to.deep.equal(['limit']);
    expect(invalid(await stage.call('GET', '/notes/n?note_id=m'))).to.deep.equal(['note_id']);
    expect(invalid(await stage.call('PATCH', '/notes/n', { body: { note_id: 'm' } }))).to.deep.equal([
      'note_id',
    ]);
  });

  it(`have no body field from the query and no undeclared parameter ${verifies('contract:0:query')}`, async () => {
    const bare = [
      ['PATCH', '/notes/n?text=a'],
      ['PUT', '/notes/n/labels?text=a'],
      ['POST', '/notes?text=a'],
      ['POST', '/open?text=a'],
    ] as const;
    const { length } = stage.notes.requests;
    for (const [method, path] of bare) {
      for (const body of [undefined, {}, { text: 'b' }]) {
        const answer = await stage.call(method, path, { body });
        expect(invalid(answer), path).to.deep.equal(['text']);
      }
    }
    expect(invalid(await stage.call('POST', '/notes?a=1&b=2'))).to.deep.equal(['a', 'b']);
    expect(invalid(await stage.call('DELETE', '/notes/n?forced=true'))).to.deep.equal(['forced']);
    expect((await stage.call('DELETE', '/notes/n?force=true')).status).to.equal(204);
    expect(stage.notes.requests.length).to.equal(length + 1);
    for (const url of ['/console?any=1', '/health/live?any=1', '/?any=1'])
      expect((await stage.call('GET', '', { url, bearer: null })).status, url).to.equal(200);
  });

  it(`have the fields of a DELETE in the query, or in a body where its route says so ${verifies('contract:17:delete-body')}`, async () => {
    const named = { body: { text: 'all' } };
    expect((await stage.call('DELETE', '/notes', named)).json?.['input']).to.deep.equal({ text: 'all' });
    expect(invalid(await stage.call('DELETE', '/notes?text=all'))).to.deep.equal(['text']);
    expect(invalid(await stage.call('DELETE', '/notes'))).to.deep.equal(['text']);
    expect(invalid(await stage.call('DELETE', '/notes/n', { body: { force: true } }))).to.deep.equal([
      'force',
    ]);
  });

  it(`may have any JSON media type, and an empty body for {} ${verifies('contract:0:media-types')}`, async () => {
    const types = [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/merge-patch+json',
    ];
    for (const type of types) {
      expect((await stage.call('PATCH', '/notes/n', { body: { text: 'a' }, type })).status, type).to.equal(
        200,
      );
    }
    expect((await stage.call('PATCH', '/notes/n')).json?.['input']).to.deep.equal({ note_id: 'n' });
    expect((await stage.call('PATCH', '/notes/n', { body: '', type: 'text/plain' })).status).to.equal(200);
    const chunked = { 'transfer-encoding': 'chunked' };
    expect((await stage.call('PATCH', '/notes/n', { headers: chunked })).status).to.equal(200);
  });

  it('are refused for every other media type', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'text/json',
      'application/jsonp',
      '',
    ]) {
      const answer = await stage.call('POST', '/notes', { body: '{}', type });
      expect(refused(answer), type).to.deep.equal([415, 'unsupported_media_type']);
    }
    const zipped = await stage.call('POST', '/notes', {
      body: '{}',
      headers: { 'content-encoding': 'gzip' },
    });
    expect(refused(zipped)).to.deep.equal([415, 'unsupported_media_type']);
  });

  it('are refused when the body is no JSON object', async () => {
    const bodies = [
      '{',
      '{"text":}',
      '[]',
      'null',
      '1',
      '"text"',
      '{} {}',
      "{'text':1}",
      '\u00a0{}',
      '{"a":1,}',
    ];
    for (const body of bodies) invalid(await stage.call('POST', '/notes', { body }));
    invalid(await stage.call('POST', '/notes', { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]) }));
    invalid(await stage.call('PUT', '/notes/n/labels', { body: '[]' }));
  });

  it(`are answered with the field of a body that is one field as a whole ${verifies('contract:13:issues')}`, async () => {
    const label = 'a'.repeat(21);
    const body = { [label]: 1, short: 2 };
    expect(invalid(await stage.call('PUT', '/notes/n/labels', { body }))).to.deep.equal([label]);
    expect((await stage.call('PUT', '/notes/n/labels', { body: { short: 2 } })).status).to.equal(200);
  });

  it('are refused for deep JSON before it is parsed, but not for brackets in texts', async () => {
    expect((await stage.call('POST', '/notes', { body: nested(32) })).status).to.equal(201);
    invalid(await stage.call('POST', '/notes', { body: nested(33) }));
    const bomb = '{"text":'.repeat(100_000);
    invalid(await stage.call('POST', '/notes', { body: bomb }));
    const text = `${'['.repeat(100)}"\\${'{'.repeat(100)}`;
    const { json } = await stage.call('POST', '/notes', { body: { text } });
    expect(json?.['input']).to.deep.equal({ text });
  });

  it(`are refused beyond a body of 1 MiB ${verifies('contract:15:body-size')}`, async () => {
    const sized = (bytes: number): string => `{"text":"${'x'.repeat(bytes - 11)}"}`;
    expect((await stage.call('POST', '/notes', { body: sized(MAX_BYTES) })).status).to.equal(201);
    const larger = await stage.call('POST', '/notes', { body: sized(MAX_BYTES + 1) });
    expect(refused(larger)).to.deep.equal([413, 'payload_too_large']);
    const lengthless = { 'transfer-encoding': 'chunked' };
    const chunked = await stage.call('POST', '/notes', { body: sized(2 * MAX_BYTES), headers: lengthless });
    expect(refused(chunked)).to.deep.equal([413, 'payload_too_large']);
  });

  it('are answered 413 before the client has sent everything', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = http.request({
        host: '127.0.0.1',
        port: stage.server.port,
        method: 'POST',
        path: '/api/v1/notes',
        headers: {
          authorization: `Bearer ${stage.memory.org.restToken}`,
          'content-type': 'application/json',
          'content-length': 1_000 * MAX_BYTES,
        },
      });
      request.on('error', reject);
      request.on('response', (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.write('{');
    });
    expect(status).to.equal(413);
  });

  it('may have no body with GET and DELETE, except the empty object', async () => {
    expect(invalid(await stage.call('GET', '/notes/n', { body: { limit: 1 } }))).to.deep.equal(['limit']);
    expect(invalid(await stage.call('DELETE', '/notes/n', { body: { force: true } }))).to.deep.equal([
      'force',
    ]);
    expect((await stage.call('DELETE', '/notes/n', { body: {} })).status).to.equal(204);
    expect((await stage.call('DELETE', '/notes/n?force=true')).status).to.equal(204);
  });

  it('are refused when the path is not percent-encoded', async () => {
    expect(invalid(await stage.call('GET', '/notes/%zz'))).to.deep.equal(['']);
  });

  it('may have an encoded slash in a parameter', async () => {
    const { json } = await stage.call('GET', '/notes/a%2Fb%20c');
    expect(json?.['input']).to.deep.equal({ note_id: 'a/b c' });
  });

  it('are answered 404 for unknown routes, and recorded for a known caller', async () => {
    const paths = [
      '/nothing',
      '/notes/n/',
      '/Notes/n',
      '/notes//labels',
      '/',
      '',
      '//notes/n',
      '/notes/n/labels/x',
    ];
    for (const path of paths)
      expect(refused(await stage.call('GET', path)), path).to.deep.equal([404, 'not_found']);
    expect(stage.recorded).to.have.length(paths.length);
    expect(stage.recorded[0]?.data).to.deep.equal({ capability: null, code: 'not_found', mailbox_id: null });
    expect(stage.recorded[0]?.metadata['actor']).to.deep.include({ token_id: stage.memory.ownerTokenId });
  });

  it('are answered 405 with the methods of the path, and not recorded', async () => {
    const answer = await stage.call('PUT', '/notes/n');
    expect(refused(answer)).to.deep.equal([405, 'method_not_allowed']);
    expect(answer.headers.allow?.split(', ')).to.have.members(['GET', 'HEAD', 'PATCH', 'DELETE']);
    expect(refused(await stage.call('OPTIONS', '/notes'))).to.deep.equal([405, 'method_not_allowed']);
    expect(stage.recorded).to.deep.equal([]);
  });

  it(`are answered without any detail of routes when they have no bearer ${verifies('contract:18:public-routes', 'contract:2:bearer')}`, async () => {
    const calls = [
      ['GET', '/notes/n'],
      ['PUT', '/notes/n'],
      ['GET', '/nothing'],
    ] as const;
    for (const [method, path] of calls) {
      const answer = await stage.call(method, path, { bearer: null });
      expect(refused(answer), path).to.deep.equal([401, 'unauthenticated']);
      expect(answer.headers['www-authenticate']).to.equal('Bearer realm="api"');
      expect(answer.headers).not.to.have.property('allow');
    }
    expect(stage.recorded).to.deep.equal([]);
  });

  it(`are answered that the bearer is wrong, or without a reason when there is none ${verifies('contract:13:invalid-token')}`, async () => {
    for (const authorization of ['Bearer mgw_forged', 'Bearer not a token', 'Bearer', 'Basic eDp5']) {
      const answer = await stage.call('GET', '/notes/n', { bearer: null, headers: { authorization } });
      expect(refused(answer), authorization).to.deep.equal([401, 'unauthenticated']);
      expect(answer.headers['www-authenticate'], authorization).to.equal(
        'Bearer realm="api", error="invalid_token"',
      );
    }
  });

  it(`have their connection closed when an unknown caller sends an unread body ${verifies('contract:15:public-bodies')}`, async () => {
    const begun = await exchange(
      stage.server.port,
      'POST /api/v1/notes HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{',
    );
    expect(begun)
      .to.match(/^HTTP\/1\.1 401 /)
      .and.to.match(/\r\nConnection: close\r\n/);
    const bodiless = await stage.call('GET', '/notes/n', { bearer: null });
    expect(bodiless.status).to.equal(401);
    expect(bodiless.headers.connection).not.to.equal('close');
  });

  it(`may have a body of 16 KiB on public routes ${verifies('contract:15:public-bodies')}`, async () => {
    const sized = (bytes: number): string => `{"text":"${'x'.repeat(bytes - 11)}"}`;
    const send = (bytes: number) => stage.call('POST', '/open', { bearer: null, body: sized(bytes) });
    expect((await send(16_384)).status).to.equal(200);
    const larger = await send(16_385);
    expect(refused(larger)).to.deep.equal([413, 'payload_too_large']);
    expect(errorOf(larger)['message']).to.equal('The body may have at most 16384 bytes.');
  });

  it('are counted without an address when the caller is unknown', async () => {
    await stage.call('GET', '/notes/n', { bearer: null });
    await stage.call('GET', '/notes/n', { bearer: 'mgw_forged' });
    const [first, second] = stage.counted;
    expect(first).to.match(/^unauthenticated addr_[0-9a-f]{16}$/);
    expect(second).to.equal(first);
  });

  it(`are refused for malformed keys, versions and positions ${verifies('contract:14:key-form')}`, async () => {
    const bad: readonly Record<string, string>[] = [
      { 'idempotency-key': '' },
      { 'idempotency-key': 'two words' },
      { 'idempotency-key': 'x'.repeat(256) },
      { 'idempotency-key': 'caf\u00e9' },
      { 'if-match': '7' },
      { 'if-match': 'W/"7"' },
      { 'if-match': '*' },
      { 'if-match': '"7", "8"' },
      { 'if-position': '-1' },
      { 'if-position': '0x10' },
      { 'if-position': '1.5' },
      { 'if-position': '64' },
      { 'if-position': '1'.repeat(40) },
    ];
    for (const headers of bad) {
      const answer = await stage.call('PATCH', '/notes/n', { headers, body: { text: 'a' } });
      const [name = ''] = Object.keys(headers);
      expect(
        invalid(answer).map((path) => path.toLowerCase().replace('_', '-')),
        name,
      ).to.deep.equal([name]);
    }
    const sound = {
      'idempotency-key': `~${'!'.repeat(254)}`,
      'if-match': '"7"',
      'if-position': `${stage.ports.server.logId}-64`,
    };
    expect((await stage.call('PATCH', '/notes/n', { headers: sound })).status).to.equal(200);
    expect(stage.notes.requests.at(-1)).to.deep.include({
      idempotencyKey: sound['idempotency-key'],
      ifMatch: '7',
      ifPosition: 64n,
      surface: 'rest',
    });
  });

  it(`are refused for If-Match when nothing has a version ${verifies('contract:0:if-match')}`, async () => {
    const headers = { 'if-match': '"7"' };
    for (const [method, path, sent] of [
      ['POST', '/notes', { body: { text: 'a' } }],
      ['DELETE', '/notes/n', {}],
    ] as const) {
      const made = stage.notes.requests.length;
      expect(invalid(await stage.call(method, path, { headers, ...sent }))).to.deep.equal(['If-Match']);
      expect(stage.notes.requests.length, 'nothing ran').to.equal(made);
    }
    expect((await stage.call('GET', '/notes/n', { headers })).status, 'a read changes nothing').to.equal(200);
  });

  it(`are answered 500 without its text when the gateway has a defect ${verifies('contract:13:internal')}`, async () => {
    const answer = await stage.call('POST', '/fail', { body: { how: 'defect' } });
    expect(refused(answer)).to.deep.equal([500, 'internal_error']);
    expect(answer.text).not.to.include('swordfish');
    const line = stage.lines.find(({ level }) => level === 'error');
    expect(line?.fields['request_id']).to.equal(answer.headers['request-id']);
    expect(line?.fields['error']).to.include('swordfish');
  });
});
