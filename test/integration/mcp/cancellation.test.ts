import { expect } from 'chai';
import { eventually } from '../../support/suite/eventually.ts';
import { heldTools } from '../../support/worlds/mcp/held-tools.ts';
import { callOf, openSession, rawMcp, rpc } from '../../support/worlds/mcp/raw-mcp.ts';
import { sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { type ServedMcp, serveMcp } from '../../support/worlds/mcp/serve-mcp.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('a cancelled call of /mcp', () => {
  let served: ServedMcp;
  let session: Record<string, string>;
  const { registry, ended, finishWrite } = heldTools();

  before(async () => {
    served = await serveMcp({}, { registry });
    served.gate.callers.set('one', sampleCaller());
  });
  after(() => served.close());
  beforeEach(async () => {
    ended.length = 0;
    session = await openSession(served.url, '2025-11-25', 'one');
  });

  const post = (body: unknown, headers = session) => rawMcp(served.url, { body, headers });
  const cancel = (requestId: unknown, headers = session) =>
    post(
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'not needed' } },
      headers,
    );
  const call = (name: string, id: string | number) =>
    post({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } });

  it(`ends its wait at once without an answer and frees its place ${verifies('contract:16:cancelled')}`, async () => {
    const waits = [1, '1', 3].map((id) => call('note_wait', id));
    await eventually(() => served.gate.waiting === 3);
    expect((await cancel('1')).status).to.equal(202);
    const cancelled = await waits[1];
    expect([cancelled?.status, cancelled?.text]).to.deep.equal([202, '']);
    expect(served.gate.waiting).to.equal(2);
    await Promise.all([cancel(1), cancel(3)]);
    expect((await Promise.all(waits)).map(({ status }) => status)).to.deep.equal([202, 202, 202]);
    expect([served.gate.waiting, served.gate.atWork]).to.deep.equal([0, 0]);
    await eventually(() => ended.length === 3);
  });

  it(`runs to its outcome when it writes, and only its wait ends ${verifies('contract:16:cancelled')}`, async () => {
    const writing = call('note_write', 7);
    await eventually(() => served.gate.counted.at(-1) === 'write');
    await cancel(7);
    const { status, text } = await writing;
    expect([status, text, served.gate.atWork]).to.deep.equal([202, '', 0]);
    expect(ended).to.deep.equal([]);
    finishWrite();
    await eventually(() => ended.length === 1);
  });

  it('belongs to its session: other sessions, unknown ids and malformed ids change nothing', async () => {
    const other = await openSession(served.url, '2025-11-25', 'one');
    const waiting = call('note_wait', 5);
    await eventually(() => served.gate.waiting === 1);
    for (const answer of [
      await cancel(5, other),
      await cancel(6),
      await cancel(null),
      await cancel({ a: 1 }),
    ])
      expect(answer.status).to.equal(202);
    expect(served.gate.waiting).to.equal(1);
    await cancel(5);
    expect((await waiting).status).to.equal(202);
  });

  it('is omitted from the answer to its batch', async () => {
    const old = await openSession(served.url, '2025-03-26', 'one');
    const batch = post(
      [
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'note_wait', arguments: {} } },
        rpc('ping', {}, 2),
      ],
      old,
    );
    await eventually(() => served.gate.waiting === 1);
    await cancel(1, old);
    expect((await batch).body).to.deep.equal([{ jsonrpc: '2.0', id: 2, result: {} }]);
    expect((await post(callOf('get_identity'))).status).to.equal(200);
  });
});
