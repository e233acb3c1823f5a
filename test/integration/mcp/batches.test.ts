import { expect } from 'chai';
import { errorOf, stageMcp } from '../../support/worlds/mcp/mcp-stage.ts';
import { callOf, rpc } from '../../support/worlds/mcp/raw-mcp.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('batches on /mcp', () => {
  const stage = stageMcp();

  const silent = { jsonrpc: '2.0', method: 'notifications/x' };

  it('are refused from 2025-06-18 on', async () => {
    for (const revision of ['2025-06-18', '2025-11-25']) {
      const answer = await stage.send({ body: [rpc('ping')], headers: await stage.open(revision) });
      expect([answer.status, errorOf(answer).code]).to.deep.equal([400, -32600]);
    }
  });

  it(`are answered by an array in 2025-03-26, also for one request, without a version header ${verifies('contract:16:old-revision')}`, async () => {
    const { 'mcp-session-id': id } = await stage.open('2025-03-26');
    const headers = { 'mcp-session-id': id };
    const one = await stage.send({ headers, body: [rpc('ping', {}, 'a')] });
    expect(one.body).to.deep.equal([{ jsonrpc: '2.0', id: 'a', result: {} }]);
    const mixed = await stage.send({
      headers,
      body: [rpc('ping', {}, 'a'), silent, { id: 9 }, rpc('nope', {}, 'b')],
    });
    const answers = mixed.body as { id: unknown; error?: { code: number } }[];
    expect(answers.map(({ id: told, error }) => [told, error?.code])).to.deep.equal([
      ['a', undefined],
      [9, -32600],
      ['b', -32601],
    ]);
    const quiet = await stage.send({ headers, body: [silent, { jsonrpc: '2.0', id: 1, result: {} }] });
    expect([quiet.status, quiet.text]).to.deep.equal([202, '']);
  });

  it(`answer a call out of scope or over the limit as that item, and count each call ${verifies('contract:16:batch-scope')}`, async () => {
    stage.served.gate.writesClosed = true;
    const { 'mcp-session-id': id } = await stage.open('2025-03-26', 'narrow');
    stage.served.gate.counted.length = 0;
    const { status, body } = await stage.send({
      bearer: 'narrow',
      headers: { 'mcp-session-id': id },
      body: [callOf('note_copy', {}, 'a'), callOf('get_identity', {}, 'b'), callOf('get_identity', {}, 'c')],
    });
    const items = body as {
      id: string;
      result: { isError: boolean; structuredContent: { error?: { code: string } } };
    }[];
    expect(status).to.equal(200);
    expect(items.map(({ id: told, result }) => [told, result.isError])).to.deep.equal([
      ['a', true],
      ['b', false],
      ['c', false],
    ]);
    expect(items[0]?.result.structuredContent.error?.code).to.equal('insufficient_scope');
    expect(stage.served.gate.counted).to.deep.equal(['request', 'read', 'read']);
  });
});
