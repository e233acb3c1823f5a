import { expect } from 'chai';
import { Frontier } from '../../../commands/audit/merkle.ts';
import { type AnyEvent, eventCatalogue } from '../../../commands/event-catalogue.ts';
import { appendFacts, envelope } from '../../../commands/kernel/decide-and-append.ts';
import type { NewEvent } from '../../../commands/values/event.ts';
import { uuidToId } from '../../../commands/values/ids.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { type AuditFilter, getAudit, listAudit, openAudit } from '../../../projections/audit-queries.ts';
import { happened, openSample, randomIds, sampleAuthor } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { MAILBOX, ORG, sampleHistory, TOKEN } from '../../support/samples/sample-history.ts';
import { rejection } from '../../support/suite/rejection.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('the audit read model', () => {
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
    await older('operation-opn_9', ['OperationSubmitted', 'OperationDecided', 'ApprovalRequested']);
    await older('draft-drf_9', ['DraftStarted', 'DraftFrozen', 'SendStarted', 'DraftSent']);
    await older('operation-opn_9', ['ApprovalVoteCast', 'CommitStarted', 'SendIntended']);
    await older('operation-opn_8', ['OperationSubmitted', 'ActionsIntended']);
    await older('token-tok_old', ['TokenIssued', 'TokenRevoked'], { secret_hash: 'a hash in clear' });
    await appendFacts({ events: rig.events, ids: randomIds, clock: systemClock }, sampleAuthor(ORG), {
      stream: 'operation-opn_7',
      expected: 'no-stream',
      catalogue: eventCatalogue,
      facts: [{ type: 'ApprovalRejected', data: {} }],
      about: { mailbox_id: 'mbx_7', approval_id: 'chk_7' },
    });
    await rig.settle(await rig.start());
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** Appends events as they were stored before the envelope said what they are about. */
  const older = async (stream: string, types: readonly AnyEvent['type'][], changes = {}): Promise<void> => {
    const last = await rig.events.readLast(stream);
    const written = types.map((type) => {
      const sample: Readonly<Record<string, unknown>> = SAMPLE_EVENTS[type];
      const named = 'operation_id' in sample ? { operation_id: 'opn_9' } : {};
      const definition = eventCatalogue.get(type);
      if (!definition) throw new Error(type);
      const version = type === 'TokenIssued' ? { ...definition, upcasters: [] } : definition;
      const metadata = envelope(sampleAuthor(ORG), version, new Date());
      return { id: randomIds.newUuid(), type, data: { ...sample, ...named, ...changes }, metadata };
    });
    await rig.events.append(stream, last?.revision ?? 'no-stream', written);
  };
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

  it(`returns pages from either end by the sequence ${verifies('contract:12:own-org')}`, async () => {
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
    expect(await typesOf({ type: 'AgentCreated' })).to.deep.equal(['AgentCreated']);
    expect(await typesOf({ resource: TOKEN })).to.deep.equal(['TokenIssued']);
    expect(await typesOf({ outcome: 'denied' })).to.deep.equal([
      'RequestRefused',
      'RequestRefused',
      'ApprovalRejected',
    ]);
    expect(await typesOf({ requestId: 'req_odd' })).to.deep.equal(['RequestRefused']);
    expect(await typesOf({ actor: 'usr_nobody' })).to.deep.equal([]);
    expect(await typesOf({ actor: 'usr_someone', type: 'AgentCreated' })).to.deep.equal(['AgentCreated']);
    expect(await typesOf({ from: '2100-01-01T00:00:00Z' })).to.deep.equal([]);
    expect(await typesOf({ to: '2000-01-01T00:00:00Z' })).to.deep.equal([]);
    const now = new Date().toISOString();
    expect(await typesOf({ to: now, from: '2000-01-01T00:00:00Z', outcome: 'denied' })).to.have.length(3);
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

  it(`returns actor, surface, purpose and outcome ${verifies('contract:12:line')}`, async () => {
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

  it(`finds every line of an approval, also from before lines named it ${verifies('contract:12:approval-lines')}`, async () => {
    expect(await typesOf({ approval: 'chk_7' })).to.deep.equal(['ApprovalRejected']);
    expect(await typesOf({ approval: 'chk_9' })).to.deep.equal([
      'ApprovalRequested',
      'DraftFrozen',
      'SendStarted',
      'DraftSent',
      'ApprovalVoteCast',
      'CommitStarted',
      'SendIntended',
    ]);
    expect(await typesOf({ approval: 'chk_8' })).to.deep.equal([]);
    const [voted] = await listAudit(rig.sql, ORG, { approval: 'chk_9', type: 'ApprovalVoteCast' }, ascending);
    expect(voted).to.include({ mailboxId: 'mbx_1', approvalId: 'chk_9' });
  });

  it(`hides verifiers of secrets, in clear or sealed ${verifies('contract:12:no-verifier')}`, async () => {
    const issued = await listAudit(rig.sql, ORG, { type: 'TokenIssued' }, ascending);
    expect(issued.map(({ data }) => data['secret_hash'])).to.deep.equal(['sealed:hash-1', 'a hash in clear']);
    for (const line of issued) {
      const { data } = await openAudit(line, openSample);
      expect(data).to.include({ surface: 'rest' }).and.not.have.property('secret_hash');
    }
  });

  it('stores text that Postgres cannot hold', async () => {
    const [line] = await listAudit(rig.sql, ORG, { requestId: 'req_odd' }, ascending);
    expect(line?.mailboxId).to.equal('a\ufffdb');
    expect(line?.data['mailbox_id']).to.equal('a\u0000b');
    expect(await typesOf({ mailboxId: 'a\u0000b' })).to.deep.equal(['RequestRefused']);
  });
});

const renamed = eventCatalogue.get('OrganisationRenamed');
if (!renamed) throw new Error('no OrganisationRenamed');

describe('the audit read model of odd events', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });
  const stored = (changes: Partial<NewEvent>): NewEvent => ({
    id: randomIds.newUuid(),
    type: 'OrganisationRenamed',
    data: { name: 'B' },
    metadata: { ...envelope(sampleAuthor(ORG), renamed, new Date()) },
    ...changes,
  });

  it(`gives every event its line, also one that nobody can read ${verifies('contract:12:every-event')}`, async () => {
    const { metadata } = stored({});
    const odd: readonly Partial<NewEvent>[] = [
      { type: 'WrittenByANewerGateway', data: { of: 'a type unknown here' } },
      { data: { name: 7 } },
      { metadata: { ...metadata, v: 99 } },
      { metadata: { ...metadata, occurred_at: '0000-01-01T00:00:00.000Z' } },
      { metadata: { ...metadata, occurred_at: '2026-02-30T00:00:00Z', request_id: 'r'.repeat(100_000) } },
      { type: 'T'.repeat(100_000) },
      { data: { name: '\ud800 and \u0000' } },
      { metadata: { org_id: ORG } },
    ];
    await rig.events.append('organisation-org_a', 'no-stream', odd.map(stored));
    const twice = stored({});
    await rig.events.append('organisation-one', 'no-stream', [twice]);
    await rig.events.append('organisation-two', 'no-stream', [twice]);
    await rig.settle(await rig.start());
    const lines = await listAudit(rig.sql, ORG, {}, { order: 'asc', after: null, limit: 50 });
    expect(lines.map(({ seq }) => seq)).to.deep.equal(
      Array.from({ length: odd.length + 2 }, (_unused, at) => at + 1),
    );
    expect(lines.slice(0, 3).map(({ action, outcome }) => [action, outcome])).to.deep.equal(
      Array.from({ length: 3 }, () => ['unreadable', 'pending']),
    );
    expect(lines[0]?.data).to.deep.equal({ of: 'a type unknown here' });
    expect(lines[7]?.actor).to.deep.equal({
      type: null,
      id: null,
      tokenId: null,
      sessionId: null,
      client: null,
    });
    const parked = await rig.sql.query(`select * from work.parked_event where projection like 'audit%'`);
    expect(parked).to.deep.equal([]);
  });

  it(`holds the tree of each trail ${verifies('contract:12:seal')}`, async () => {
    const many = Array.from({ length: 600 }, () => stored({}));
    await rig.events.append('organisation-org_a', 'no-stream', many.slice(0, 300));
    await rig.settle(await rig.start());
    await rig.events.append('organisation-org_a', 299n, many.slice(300));
    await rig.settle(await rig.start());
    const rows = await rig.sql.query<{ leaf: Buffer }>(
      'select leaf from read.audit where trail = $1 order by seq',
      [ORG],
    );
    const tree = new Frontier();
    const nodes = rows.flatMap(({ leaf }) => tree.push(leaf)).filter(({ level }) => level === 8);
    expect(
      await rig.sql.query('select size::int, frontier from read.audit_tree where trail = $1', [ORG]),
    ).to.deep.equal([{ size: 600, frontier: tree.toBytes() }]);
    expect(
      await rig.sql.query('select level, idx::int as index, hash from read.audit_node order by idx'),
    ).to.deep.equal(nodes);
  });

  it('asks to come back while the table of an older version is shown', async () => {
    await rig.sql.query('create schema if not exists read');
    await rig.sql.query('create view read.audit as select 1 as seq');
    const refused = await rejection(listAudit(rig.sql, ORG, {}, { order: 'asc', after: null, limit: 1 }));
    expect(refused).to.include({ code: 'index_building' });
  });
});
