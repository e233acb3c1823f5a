import { expect } from 'chai';
import fc from 'fast-check';
import { EnvelopeRefusal, readEnvelope, readMessage } from '../../../mcp/json-rpc-messages.ts';
import { verifies } from '../../support/suite/verifies.ts';

const body = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

function refusal(bytes: Buffer): EnvelopeRefusal {
  try {
    readEnvelope(bytes);
  } catch (error) {
    if (error instanceof EnvelopeRefusal) return error;
    throw error;
  }
  throw new Error('the body was taken');
}

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

describe('readEnvelope and readMessage', () => {
  it('returns a request with its id and params', () => {
    expect(readEnvelope(body({ ...ping, params: { a: 1 } }))).to.deep.equal({
      batch: false,
      messages: [{ kind: 'request', id: 1, method: 'ping', params: { a: 1 } }],
    });
  });

  it('distinguishes notifications and responses from requests', () => {
    expect(readMessage({ jsonrpc: '2.0', method: 'x' })).to.deep.equal({
      kind: 'notification',
      method: 'x',
      params: {},
    });
    expect(readMessage({ jsonrpc: '2.0', id: 1, result: {} })).to.deep.equal({ kind: 'response' });
    expect(readMessage({ jsonrpc: '2.0', id: 1, error: { code: 1, message: '' } }).kind).to.equal('response');
  });

  it('answers −32700 when the body is not JSON or not UTF-8', () => {
    for (const text of ['', '{', 'nul', '{"a":1}}']) expect(refusal(Buffer.from(text)).code).to.equal(-32700);
    expect(refusal(Buffer.from([0x22, 0xff, 0x22])).code).to.equal(-32700);
  });

  it(`answers −32600, with the id if there is one, when a message is malformed ${verifies('contract:16:request-members')}`, () => {
    const cases: [unknown, string | number | undefined][] = [
      [1, undefined],
      [null, undefined],
      [{ id: 7, method: 'ping' }, 7],
      [{ ...ping, jsonrpc: '1.0' }, 1],
      [{ jsonrpc: '2.0', id: 'a' }, 'a'],
      [{ ...ping, method: 5 }, 1],
      [{ ...ping, params: 'text' }, 1],
      [{ ...ping, params: null }, 1],
      [{ ...ping, params: [] }, 1],
    ];
    for (const [message, id] of cases) {
      const { code, id: told } = refusal(body(message));
      expect({ code, id: told }).to.deep.equal({ code: -32600, id });
    }
  });

  it(`answers −32600 when an id is null, fractional, boolean or an object ${verifies('contract:16:json-rpc-codes')}`, () => {
    for (const id of [null, 1.5, true, {}, 2 ** 60])
      expect(refusal(body({ ...ping, id })).code).to.equal(-32600);
  });

  it(`answers −32600 when a batch is empty, over 100 messages or holds initialize ${verifies('contract:16:old-revision')}`, () => {
    expect(refusal(body([])).message).to.match(/at least one/);
    expect(refusal(body(Array(101).fill(ping))).message).to.match(/at most 100/);
    expect(refusal(body([ping, { ...ping, method: 'initialize' }])).message).to.match(/on its own/);
    expect(readEnvelope(body(Array(100).fill(ping))).messages).to.have.length(100);
  });

  it('keeps a malformed message of a batch in its place', () => {
    const { batch, messages } = readEnvelope(body([ping, 1, { jsonrpc: '2.0', method: 'n' }]));
    expect(batch).to.equal(true);
    expect(messages.map(({ kind }) => kind)).to.deep.equal(['request', 'invalid', 'notification']);
  });

  it('answers −32600 when the message is nested too deep', () => {
    expect(refusal(body({ ...ping, params: { a: nested(64) } })).message).to.match(/deeper than 64/);
    const bomb = Buffer.from('['.repeat(100_000) + ']'.repeat(100_000));
    expect(refusal(bomb).code).to.equal(-32600);
    expect(readEnvelope(body({ ...ping, params: { a: nested(60) } })).messages).to.have.length(1);
  });

  it('never throws another error, whatever JSON is sent', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        try {
          readEnvelope(Buffer.from(text));
        } catch (error) {
          expect(error).to.be.instanceOf(EnvelopeRefusal);
        }
      }),
    );
  });
});
