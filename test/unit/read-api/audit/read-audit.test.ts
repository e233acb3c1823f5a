import { expect } from 'chai';
import { getAuditEvent, listAuditEvents } from '../../../../read-api/audit/read-audit.ts';
import type { AuditLine } from '../../../../read-api/audit/audit-line.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { uuidToId } from '../../../../commands/values/ids.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const EVENT_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const ACTOR = { type: 'delegated', id: 'usr_1', token_id: 'tok_1', session_id: null };
const row = (seq: number, actor: object = ACTOR) => ({
  seq: String(seq),
  position: String(seq * 64),
  event_id: EVENT_ID,
  type: 'MailboxAdded',
  resource_type: 'mailbox',
  resource_id: 'mbx_1',
  mailbox_id: 'mbx_1',
  approval_id: null,
  action: 'mailbox.add',
  outcome: 'allowed',
  policy: null,
  leaf: Buffer.alloc(32),
  line: JSON.stringify({
    ...{ actor, occurred_at: '2026-03-01T12:00:00.000Z', surface: 'rest' },
    ...{ request_id: 'req_1', correlation_id: 'req_1', causation_id: 'req_1' },
  }),
  body: JSON.stringify({
    data: { number: 1, email: 'sealed:usr_1:box@example.com' },
    meta: { actor: { client: 'sealed:usr_1:{"ip":"192.0.2.1","user_agent":"curl"}' } },
  }),
});
type Named = AuditLine & { readonly names: Readonly<Record<string, string>> };
interface Lines {
  items: Named[];
  page: { next_cursor: string | null };
}

describe('audit trail', () => {
  let gateway: MemoryGateway;
  const list = (input: object = {}) => gateway.call<Lines>(listAuditEvents, input);

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    gateway.sql.rows.set('read.audit', [row(9), row(8), row(7)]);
  });

  it('opens sealed texts in the answer', async () => {
    const [line] = (await list()).items;
    expect(line).to.deep.include({
      id: uuidToId('evt', EVENT_ID),
      seq: 9,
      actor: {
        type: 'delegated',
        id: 'usr_1',
        token_id: 'tok_1',
        session_id: null,
        ip: '192.0.2.1',
        user_agent: 'curl',
      },
      resource: { type: 'mailbox', id: 'mbx_1' },
      data: { number: 1, email: 'box@example.com' },
      occurred_at: '2026-03-01T12:00:00.000Z',
    });
    expect(line).not.to.have.any.keys('policy', 'withheld', 'erased');
  });

  it('gives the places of texts that were erased', async () => {
    await gateway.ports.personal.erase('usr_1');
    const [line] = (await list()).items;
    expect(line).to.deep.include({
      data: { number: 1, email: null },
      erased: ['/data/email', '/meta/actor/client'],
    });
    expect(line).not.to.have.any.keys('withheld');
  });

  it('names who acted, while they are there', async () => {
    const agent = { ...ACTOR, type: 'agent', id: gateway.org.agentId };
    gateway.sql.rows.set('read.audit', [row(9, agent), row(8)]);
    const names = (await list()).items.map((line) => line.names);
    expect(names).to.deep.equal([{ [gateway.org.agentId]: 'Demo agent' }, {}]);
    const one = await gateway.call<Named>(getAuditEvent, { event_id: uuidToId('evt', EVENT_ID) });
    expect(one.names).to.deep.equal(names[0]);
  });

  it("reads only the caller's organisation, one line more than a page", async () => {
    await list({ limit: 2 });
    expect(gateway.sql.asked.at(-1)).to.deep.equal([gateway.org.orgId, 3]);
    await gateway.call(getAuditEvent, { event_id: uuidToId('evt', EVENT_ID) });
    expect(gateway.sql.asked).to.deep.include([gateway.org.orgId, EVENT_ID]);
  });

  it('continues after the last line, with the same filters only', async () => {
    const filter = { actor: 'usr_1', from: '2026-03-01T12:00:00+01:00', limit: 2 };
    const { items, page } = await list(filter);
    expect(items.map(({ seq }) => seq)).to.deep.equal([9, 8]);
    gateway.sql.rows.set('read.audit', [row(7)]);
    const rest = await list({ ...filter, from: '2026-03-01T11:00:00Z', cursor: page.next_cursor });
    expect(gateway.sql.asked.at(-1)).to.include.members([8, 'usr_1', '2026-03-01T11:00:00.000Z']);
    expect(rest.page.next_cursor).to.equal(null);
    for (const change of [{ actor: 'usr_2' }, { order: 'asc' }]) {
      const other = rejection(list({ ...filter, ...change, cursor: page.next_cursor }));
      expect(await other).to.include({ code: 'cursor_invalid' });
    }
  });

  it('hides lines of another organisation and forged ids', async () => {
    gateway.sql.rows.set('read.audit', []);
    for (const event_id of [uuidToId('evt', EVENT_ID), 'evt_forged']) {
      expect(await rejection(gateway.call(getAuditEvent, { event_id }))).to.include({ code: 'not_found' });
    }
  });

  it('requires audit:read', async () => {
    const input = {
      name: 'R',
      surface: 'rest',
      scopes: ['mailboxes:read'],
      expires_at: '2026-03-10T00:00:00Z',
    };
    const { id: token } = await gateway.call<{ id: string }>(createToken, input);
    expect(await rejection(gateway.call(listAuditEvents, {}, { token }))).to.include({
      code: 'insufficient_scope',
    });
  });
});
