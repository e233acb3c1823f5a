import { expect } from 'chai';
import { routeKey } from '../../../commands/values/ids.ts';
import { stageMcp } from '../../support/worlds/mcp/mcp-stage.ts';
import { callOf, helloOf, rpc } from '../../support/worlds/mcp/raw-mcp.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('sessions of /mcp', () => {
  const stage = stageMcp();

  it(`are unknown to any other token, principal or organisation ${verifies('contract:2:session-binding', 'contract:2:session-bound')}`, async () => {
    for (const bearer of ['narrow', 'other-principal', 'other-org']) {
      expect(await stage.refusal({ body: rpc('ping'), headers: stage.session, bearer })).to.deep.equal([
        404,
        'session_not_found',
      ]);
      expect(await stage.refusal({ method: 'DELETE', headers: stage.session, bearer })).to.deep.equal([
        404,
        'session_not_found',
      ]);
    }
    expect((await stage.inSession(rpc('ping'))).status).to.equal(200);
  });

  it('record a request by another principal, with and without a store', async () => {
    const request = { body: rpc('ping'), headers: stage.session, bearer: 'narrow' };
    stage.served.recorded.length = 0;
    const { headers } = await stage.send(request);
    expect(stage.served.recorded.map(({ data }) => data)).to.deep.equal([
      { capability: null, code: 'session_not_found', mailbox_id: null },
    ]);
    expect(stage.served.recorded[0]?.metadata).to.include({ request_id: headers.get('request-id') });
    stage.served.faults.accessLogAway = true;
    expect((await stage.send(request)).status).to.equal(404);
  });

  it(`end with DELETE: 204, then 404 for everything ${verifies('contract:16:delete', 'contract:16:accept-on-post')}`, async () => {
    const ended = await stage.send({ method: 'DELETE', headers: { ...stage.session, accept: undefined } });
    expect([ended.status, ended.text]).to.deep.equal([204, '']);
    expect(await stage.refusal({ method: 'DELETE', headers: stage.session })).to.deep.equal([
      404,
      'session_not_found',
    ]);
    expect(await stage.refusal({ body: callOf('get_identity'), headers: stage.session })).to.deep.equal([
      404,
      'session_not_found',
    ]);
  });

  it('are created again by an initialize with a stale id or any version header', async () => {
    const headers = { 'mcp-session-id': 'stale', 'mcp-protocol-version': 'x' };
    const { status, headers: answered } = await stage.send({ body: helloOf('2025-06-18'), headers });
    expect(status).to.equal(200);
    expect(answered.get('mcp-session-id'))
      .to.match(/^[\u0021-\u007e]{32,}$/)
      .and.not.equal('stale');
  });

  it(`are bound to token, organisation and principal, and their id begins with the route key ${verifies('contract:2:session-binding', 'contract:2:route-key')}`, () => {
    const row = stage.served.sessions.rows.get(stage.session['mcp-session-id'] ?? '');
    expect(stage.session['mcp-session-id']?.slice(0, 4)).to.equal(routeKey(row?.orgId ?? ''));
    expect(row).to.include({
      tokenId: 'tok_1',
      orgId: 'org_1',
      principalId: 'agt_1',
      revision: '2025-11-25',
      advancedTools: false,
    });
  });

  it('are read from a cache for tools/call, but not for the list, the switch or the end', async () => {
    stage.served.sessions.ages.length = 0;
    await stage.inSession(callOf('get_identity'));
    await stage.inSession(rpc('tools/list'));
    await stage.inSession(callOf('settings_toggle_advanced_tools', { enabled: false }));
    await stage.send({ method: 'DELETE', headers: stage.session });
    expect(stage.served.sessions.ages).to.deep.equal([1_000, 0, 0, 0]);
  });

  it('let later reads wait for their writes', async () => {
    stage.served.seen.length = 0;
    const act = { operation: { type: 'note_actions', select: { message_ids: ['m'] } }, idempotency_key: 'k' };
    await stage.inSession(callOf('get_identity'));
    await stage.inSession(callOf('note_act', act));
    await stage.inSession(callOf('get_identity'));
    expect(stage.served.seen.map(({ ifPosition }) => ifPosition)).to.deep.equal([null, null, 2n]);
  });
});
