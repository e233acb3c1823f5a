import { expect } from 'chai';
import fc from 'fast-check';
import { type RestStage, startRestStage } from '../../support/worlds/rest/rest-stage.ts';

const LIMITS = { readsPerMinute: 1_000_000, writesPerMinute: 1_000_000 };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
/** Statuses that say what the client did wrong, or that it did nothing wrong. */
const DECLARED = [200, 201, 204, 400, 404, 405, 413, 415];

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('note_id', '__proto__', 'text', 'limit', '\u0000'),
);
const segment = texts.map((text) => encodeURIComponent(text.toWellFormed()));
const path = fc.oneof(
  fc.constantFrom('/notes', '/notes/n', '/notes/n/labels', '/fail'),
  segment.map((part) => `/notes/${part}`),
  fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`),
);
const query = fc.oneof(
  fc.constant(''),
  fc
    .array(fc.tuple(segment, segment), { maxLength: 3 })
    .map((pairs) => `?${pairs.map((p) => p.join('=')).join('&')}`),
);
const body = fc.oneof(
  fc.constant(undefined),
  fc.json({ maxDepth: 4 }),
  fc.dictionary(texts, fc.jsonValue()).map((value) => JSON.stringify(value)),
  fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
);
const type = fc.constantFrom('application/json', 'text/plain', 'application/json;charset=utf-16');

describe('any request on REST', () => {
  let stage: RestStage;

  before(async () => {
    stage = await startRestStage(LIMITS);
  });
  after(() => stage.close());

  it('gets an answer of the contract and no internal failure', async () => {
    const requests = fc.record({ method: fc.constantFrom(...METHODS), path, query, body, type });
    await fc.assert(
      fc.asyncProperty(requests, async ({ method, path: to, query: asked, body: sent, type: as }) => {
        const answer = await stage.call(method, `${to}${asked}`, { body: sent, type: as });
        expect(answer.status).to.be.oneOf(DECLARED);
        expect(answer.headers['request-id']).to.match(/^req_/);
        if (answer.status >= 400) expect(answer.json).to.have.property('error');
      }),
      { numRuns: 400 },
    );
  });
});
