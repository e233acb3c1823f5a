import { expect } from 'chai';
import { uuidToId } from '../../../commands/kernel/ids.ts';
import { type AuditFilter, getAudit, listAudit, openAudit } from '../../../projections/audit-queries.ts';
import { happened, openSample, sampleAuthor } from '../../support/event-author.ts';
import { MAILBOX, ORG, sampleHistory, TOKEN } from '../../support/sample-history.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';
import { verifies } from '../../support/verifies.ts';

describe('audit', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
    await sampleHistory(rig.events);
    await happened(
      rig.events,
      'organisation-org_b',
      [{ type: 'OrganisationCreated', data: { name: 'B' } }],
      sampleAuthor('org_b'),
    );
    await happened(
      rig.events,
      'access-run-2026010101',
      [{ type: 'RequestRefused', data: { capability: null, code: 'not_found', mailbox_id: 'a\u0000b' } }],
      sampleAuthor(ORG, { requestId: 'req_odd' }),
    );
    await rig.settle(await rig.start());
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const ascending = { order: 'asc', after: null, limit: 200 } as const;
  const typesOf = async (filter: AuditFilter): Promise<string[]> =>
    (await listAudit(rig.sql, ORG, filter, ascending)).map(({ type }) => type);

  it('numbers the lines of each organisation without gaps, in the order of the log', async () => {
    const lines = await listAudit(rig.sql, ORG, {}, ascending);
    const inLog = rig.events.all.filter(({ metadata }) => metadata['org_id'] === ORG);
    expect(lines.map(({ id }) => id)).to.deep.equal(inLog.map(({ id }) => uuidToId('evt', id)));
    expect(lines.map(({ seq }) => seq)).to.deep.equal(inLog.map((_, index) => index + 1));
    const [other] = await listAudit(rig.sql, 'org_b', {}, ascending);
    expect(other?.seq).to.equal(1);
  });

  it(`pages from either end by the sequence ${verifies('contract:12:own-org')}`, async () => {
    const newest = await listAudit(rig.sql, ORG, {}, { order: 'desc', after: null, limit: 3 });
    const after = newest.at(-1)?.seq ?? 0;
    const next = await listAudit(rig.sql, ORG, {}, { order: 'desc', after, limit: 3 });
    expect([...newest, ...next].map(({ seq }) => seq)).to.deep.equal(
      Array.from({ length: 6 }, (_unused, index) => (newest[0]?.seq ?? 0) - index),
    );
    const [first] = await listAudit(rig.sql, ORG, {}, { order: 'asc', after: 4, limit: 1 });
    expect(first?.seq).to.equal(5);
  });

  it(`finds lines by each condition, and by several at once ${verifies('contract:12:filters')}`, async () => {
    expect(await typesOf({ type: 'TokenIssued' })).to.deep.equal(['TokenIssued']);
    expect(await typesOf({ resource: TOKEN })).to.deep.equal(['TokenIssued']);
    expect(await typesOf({ outcome: 'denied' })).to.deep.equal(['RequestRefused', 'RequestRefused']);
    expect(await typesOf({ requestId: 'req_odd' })).to.deep.equal(['RequestRefused']);
    expect(await typesOf({ actor: 'usr_nobody' })).to.deep.equal([]);
    expect(await typesOf({ actor: 'usr_someone', type: 'AgentCreated' })).to.deep.equal(['AgentCreated']);
    expect(await typesOf({ from: '2100-01-01T00:00:00Z' })).to.deep.equal([]);
    expect(await typesOf({ to: '2000-01-01T00:00:00Z' })).to.deep.equal([]);
    const now = new Date().toISOString();
    expect(await typesOf({ to: now, from: '2000-01-01T00:00:00Z', outcome: 'denied' })).to.have.length(2);
  });

  it(`shows every event of an operation under its mailbox ${verifies('contract:12:filters')}`, async () => {
    const types = await typesOf({ mailboxId: MAILBOX, resource: 'opn_2' });
    expect(types).to.deep.equal([
      'OperationSubmitted',
      'OperationDecided',
      'ActionsIntended',
      'ActionOutcomesRecorded',
      'OperationCompleted',
    ]);
  });

  it(`tells who, through what, what for, and with which outcome ${verifies('contract:12:line')}`, async () => {
    const [line] = await listAudit(rig.sql, ORG, { resource: 'opn_1', type: 'OperationDecided' }, ascending);
    expect(line).to.deep.include({
      surface: 'rest',
      requestId: 'req_1',
      correlationId: 'req_1',
      resource: { type: 'operation', id: 'opn_1' },
      mailboxId: MAILBOX,
      action: 'operation.decide',
      outcome: 'allowed',
      policy: { decision: 'allow', rule_id: 'default', version: 1 },
    });
    expect(line?.actor).to.deep.equal({
      type: 'delegated',
      id: 'usr_someone',
      tokenId: 'tok_sample',
      sessionId: null,
      client: null,
    });
  });

  it(`keeps sealed texts sealed and opens them for the reader ${verifies('contract:12:sealed')}`, async () => {
    const [line] = await listAudit(rig.sql, ORG, { type: 'OperationSubmitted' }, ascending);
    expect(line?.data['reason']).to.equal('sealed:tidy up');
    const opened = line && (await openAudit(line, openSample));
    expect(opened?.data['reason']).to.equal('tidy up');
  });

  it('finds one line by its id, in its own organisation only', async () => {
    const [line] = await listAudit(rig.sql, ORG, {}, ascending);
    expect(await getAudit(rig.sql, ORG, line?.id ?? '')).to.deep.equal(line);
    expect(await getAudit(rig.sql, 'org_b', line?.id ?? '')).to.equal(null);
    expect(await getAudit(rig.sql, ORG, 'evt_nonsense')).to.equal(null);
  });

  it('takes text that Postgres cannot hold', async () => {
    const [line] = await listAudit(rig.sql, ORG, { requestId: 'req_odd' }, ascending);
    expect(line?.mailboxId).to.equal('a\ufffdb');
    expect(line?.data['mailbox_id']).to.equal('a\u0000b');
    expect(await typesOf({ mailboxId: 'a\u0000b' })).to.deep.equal(['RequestRefused']);
  });
});
