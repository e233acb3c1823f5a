import { expect } from 'chai';
import fc from 'fast-check';
import { trailLine, trailOf } from '../../../../commands/audit/audit-line.ts';
import { canonicalJson, isDeeperThan } from '../../../../commands/values/canonical-json.ts';
import type { StoredEvent } from '../../../../commands/values/event.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const SALT = Buffer.alloc(16, 7);
const METADATA = {
  v: 2,
  org_id: 'org_a',
  actor: { type: 'person', id: 'usr_a', token_id: null, session_id: 'ses_a', client: 'sealed.v2.usr_a.x.y' },
  surface: 'console',
  request_id: 'req_1',
  $correlationId: 'req_1',
  $causationId: 'req_1',
  occurred_at: '2026-01-01T00:00:00.000Z',
  mailbox_id: 'mbx_a',
  mcp_session: 'hashed',
  salt: SALT.toString('base64url'),
};

const event = (changes: Partial<StoredEvent> = {}): StoredEvent => ({
  id: '879df262-5006-5b60-ac88-d9654943231f',
  type: 'OrganisationRenamed',
  streamName: 'organisation-org_a',
  revision: 4n,
  position: 99n,
  data: { name: 'B', also: null },
  metadata: METADATA,
  storedAt: new Date(),
  ...changes,
});
const parsed = (stored: StoredEvent, seq = 1): { line: Members; body: Members } => {
  const { line, body } = trailLine(stored, seq);
  return { line: JSON.parse(line) as Members, body: JSON.parse(body) as Members };
};
type Members = Readonly<Record<string, unknown>>;

describe('trailLine', () => {
  it(`puts the envelope in the line and the rest in the body ${verifies('contract:12:seal')}`, () => {
    const { line, body } = parsed(event(), 12);
    expect(line).to.deep.equal({
      actor: { id: 'usr_a', session_id: 'ses_a', token_id: null, type: 'person' },
      causation_id: 'req_1',
      correlation_id: 'req_1',
      id: 'evt_gyez4rjg0sdp1b48v5jmjgs33w',
      mailbox_id: 'mbx_a',
      occurred_at: '2026-01-01T00:00:00.000Z',
      request_id: 'req_1',
      revision: '4',
      schema: 2,
      seq: 12,
      stream: 'organisation-org_a',
      surface: 'console',
      trail: 'org_a',
      type: 'OrganisationRenamed',
      v: 1,
    });
    expect(body).to.deep.equal({
      data: { name: 'B', also: null },
      meta: { actor: { client: 'sealed.v2.usr_a.x.y' }, mcp_session: 'hashed' },
    });
    expect(trailLine(event(), 12).salt).to.deep.equal(SALT);
  });

  it('says so when an event has no salt, or something else in its place', () => {
    const { salt: _salt, ...older } = METADATA;
    expect(parsed(event({ metadata: older })).line).to.include({ salt: 'none' });
    expect(trailLine(event({ metadata: older }), 1).salt).to.equal(null);
    const odd = parsed(event({ metadata: { ...METADATA, salt: 'short' } }));
    expect(odd.line).to.include({ salt: 'none' });
    expect(odd.body['meta']).to.include({ salt: 'short' });
  });

  it('keeps the name of a stream that is made from an address in the body', () => {
    const { line, body } = parsed(event({ streamName: 'uniqueEmail-abcdef' }));
    expect(line).to.include({ stream: 'uniqueEmail' });
    expect(body).to.include({ stream: 'uniqueEmail-abcdef' });
  });

  it('keeps in the body what does not fit the line', () => {
    const metadata = {
      v: 'one',
      actor: { id: 7, type: 'person' },
      surface: 5,
      occurred_at: null,
      mailbox_id: 3,
    };
    const { line, body } = parsed(event({ metadata }));
    expect(line).to.deep.include({
      actor: { id: null, session_id: null, token_id: null, type: 'person' },
      schema: null,
      surface: null,
      occurred_at: null,
    });
    expect(line).not.to.have.property('mailbox_id');
    expect(body['meta']).to.deep.equal({
      v: 'one',
      actor: { id: 7 },
      surface: 5,
      occurred_at: null,
      mailbox_id: 3,
    });
  });

  it(`takes data of any kind and depth ${verifies('contract:12:every-event')}`, () => {
    const { body } = parsed(event({ data: {}, opaque: { data: 'AAEC' } }));
    expect(body).to.include({ data_base64: 'AAEC' }).and.not.have.property('data');
    expect(parsed(event({ metadata: {}, opaque: { metadata: 'AAEC' } })).body).to.include({
      meta_base64: 'AAEC',
    });
    const deep = JSON.parse(`{"a":${'['.repeat(100_000)}1${']'.repeat(100_000)}}`) as Members;
    const encoded = parsed(event({ data: deep })).body['data_base64'];
    expect(Buffer.from(String(encoded), 'base64').toString()).to.equal(
      `{"a":${'['.repeat(100_000)}1${']'.repeat(100_000)}}`,
    );
  });

  it(`is canonical, and one text for one event, whatever is stored ${verifies('contract:12:every-event')}`, () => {
    const members = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());
    const metadata = fc.record(
      Object.fromEntries(Object.keys(METADATA).map((name) => [name, fc.jsonValue()])),
      { requiredKeys: [] },
    );
    const property = fc.property(members, metadata, fc.string({ unit: 'binary' }), (data, meta, name) => {
      const stored = event({ data, metadata: meta, streamName: name, type: name });
      const { line, body, leaf } = trailLine(stored, 3);
      for (const text of [line, body]) expect(canonicalJson(JSON.parse(text))).to.equal(text);
      expect(isDeeperThan(JSON.parse(body), 64)).to.equal(false);
      const again = event({ ...stored, data: JSON.parse(JSON.stringify(data)) as Members });
      expect(trailLine(again, 3).leaf).to.deep.equal(leaf);
      expect(trailOf(stored)).to.match(/^(?:(?:org|usr)_[0-9a-z]+|system)$/);
    });
    fc.assert(property, { numRuns: 100 });
  });
});

describe('trailOf', () => {
  const of = (streamName: string, metadata: Members): string => trailOf({ streamName, metadata });

  it('is the organisation, else the person, else the system', () => {
    expect(of('account-usr_b', { org_id: 'org_a', actor: { id: 'usr_a' } })).to.equal('org_a');
    expect(of('account-usr_b', { org_id: null, actor: { id: 'usr_a' } })).to.equal('usr_b');
    expect(of('uniqueEmail-abc', { org_id: null, actor: { id: 'usr_a' } })).to.equal('usr_a');
    expect(of('webhookQueue-all', { org_id: null, actor: { id: 'system' } })).to.equal('system');
    expect(of('foreign', {})).to.equal('system');
  });

  it('is the trail that sealing is about', () => {
    expect(of('auditSeal-usr_b', { org_id: null })).to.equal('usr_b');
    expect(of('auditSeal-system', { org_id: null })).to.equal('system');
    expect(of('auditSeal-org_a', { org_id: 'org_a' })).to.equal('org_a');
    expect(of('auditSeal-x y', { org_id: null })).to.equal('system');
  });

  it('takes no name that could be read as more than a name', () => {
    for (const orgId of ['org_a\n5\nAAAA', 'org_a b', 'org_a+b', 'org_', 'ORG_a', `org_${'a'.repeat(65)}`])
      expect(of('foreign', { org_id: orgId }), orgId).to.equal('system');
  });
});
