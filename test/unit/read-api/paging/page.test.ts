import { expect } from 'chai';
import { z } from 'zod';
import type { Context } from '../../../../commands/kernel/capability.ts';
import {
  type CursorBinding,
  decodeCursor,
  encodeCursor,
  pageLimit,
} from '../../../../read-api/paging/page.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const Keyset = z.tuple([z.string(), z.int()]);
const KEYSET: z.output<typeof Keyset> = ['2026-03-01T12:00:00.000Z', 7];
const BINDING: CursorBinding = {
  route: 'list_notes',
  query: { filter: { seen: false }, order_by: 'sent_asc' },
};

type PageContext = Pick<Context, 'caller' | 'ports'>;

describe('a cursor', () => {
  let gateway: MemoryGateway;
  let context: PageContext;

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    context = { ports: gateway.ports, caller: gateway.callerOf(gateway.ownerTokenId) };
  });

  const decode = (cursor: string, binding = BINDING, by = context) =>
    decodeCursor(by, binding, cursor, Keyset);
  const refusal = (cursor: string, binding?: CursorBinding, by?: PageContext) =>
    thrown(() => decode(cursor, binding, by)).code;

  it("decodes to what was encoded, whatever the order of the query's keys", () => {
    const cursor = encodeCursor(context, BINDING, KEYSET);
    expect(decode(cursor)).to.deep.equal(KEYSET);
    const reordered = { query: { order_by: 'sent_asc', filter: { seen: false } }, route: 'list_notes' };
    expect(decode(cursor, reordered)).to.deep.equal(KEYSET);
  });

  it(`is bound to one route, caller, filter and order ${verifies('contract:4:cursor-bound')}`, () => {
    const cursor = encodeCursor(context, BINDING, KEYSET);
    const others: CursorBinding[] = [
      { ...BINDING, route: 'list_other' },
      { ...BINDING, query: { filter: { seen: true }, order_by: 'sent_asc' } },
      { ...BINDING, query: { filter: { seen: false }, order_by: 'sent_desc' } },
      { ...BINDING, query: { filter: { seen: false } } },
    ];
    for (const binding of others) expect(refusal(cursor, binding)).to.equal('cursor_invalid');
    const { caller } = context;
    const elsewhere = { ...context, caller: { ...caller, org: { ...caller.org, id: 'org_other' } } };
    expect(refusal(cursor, BINDING, elsewhere)).to.equal('cursor_invalid');
    const colleague = {
      ...context,
      caller: { ...caller, principal: { ...caller.principal, id: 'usr_other' } },
    };
    expect(refusal(cursor, BINDING, colleague)).to.equal('cursor_invalid');
  });

  it('is refused when it was made, changed or lengthened by hand', () => {
    const cursor = encodeCursor(context, BINDING, KEYSET);
    const [payload = '', mac = ''] = cursor.split('.');
    const other = Buffer.from(JSON.stringify(['2026-04-01T12:00:00.000Z', 7])).toString('base64url');
    const forged = [
      '',
      '.',
      payload,
      `${payload}.`,
      `.${mac}`,
      `${other}.${mac}`,
      `${cursor}.x`,
      `${payload}.x${mac}`,
    ];
    for (const text of forged) expect(refusal(text), text).to.equal('cursor_invalid');
  });

  it('is refused in a form that is no longer used', () => {
    expect(refusal(encodeCursor(context, BINDING, { after: 7 }))).to.equal('cursor_invalid');
  });
});

describe('pageLimit', () => {
  const on = (surface: 'rest' | 'mcp') =>
    ({
      request: {
        id: 'req_1',
        surface,
        idempotencyKey: null,
        ifMatch: null,
        ifPosition: null,
        mcpSessionId: null,
      },
    }) as const;

  it(`defaults to 50 and at most 200 on REST, to 20 and at most 100 on MCP ${verifies('contract:4:page-limits')}`, () => {
    expect([pageLimit(on('rest'), undefined), pageLimit(on('mcp'), undefined)]).to.deep.equal([50, 20]);
    expect([pageLimit(on('rest'), 200), pageLimit(on('mcp'), 100)]).to.deep.equal([200, 100]);
    expect(thrown(() => pageLimit(on('rest'), 201))).to.include({ code: 'invalid_request' });
    expect(thrown(() => pageLimit(on('mcp'), 101, 'select.limit')).details).to.deep.equal({
      issues: [{ path: 'select.limit', code: 'too_big', message: 'at most 100' }],
    });
  });
});
