import { expect } from 'chai';
import { GatewayError } from '../../commands/values/errors.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

describe('the contract for the audit trail', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let mailbox: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(dovecot.imap(), 'anna', [
      { raw: plainMessage({ subject: 'One', id: '<one@example.org>' }) },
      { raw: plainMessage({ subject: 'Two', id: '<two@example.org>' }) },
    ]);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
    mailbox = `/mailboxes/${mailboxId}`;
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const ids = async (): Promise<string[]> => {
    const { body } = await gateway.rest('GET', `${mailbox}/messages`);
    return body.items.map(({ id }: Json) => id as string) as string[];
  };
  /** Waits until the read model holds everything that has happened. */
  const caughtUp = async (): Promise<void> => {
    const { events, readModels } = gateway.gateway.ports;
    expect(await readModels.waitFor(await events.headPosition(), 5_000)).to.equal(true);
  };
  const lines = async (parameters: string): Promise<Json[]> => {
    const { status, body } = await gateway.rest('GET', `/audit?${parameters}`);
    expect(status, parameters).to.equal(200);
    return body.items as Json[];
  };
  const requestIdOf = ({ headers }: Answer): string => headers.get('request-id') ?? '';
  const refusals = async (answer: Answer): Promise<Json[]> =>
    (await lines(`request_id=${requestIdOf(answer)}`)).filter(({ type }) => type === 'RequestRefused');

  const newToken = async (scopes: readonly string[]): Promise<{ id: string; token: string }> => {
    const wanted = { name: 'audited', surface: 'rest', scopes, expires_at: inAnHour() };
    return (await gateway.rest('POST', '/tokens', wanted)).body as { id: string; token: string };
  };

  it(`records one line for each refusal of a known caller ${verifies('contract:12:denials')}`, async () => {
    const revoked = await newToken(['messages:read']);
    await gateway.rest('DELETE', `/tokens/${revoked.id}`);
    const narrow = await newToken(['folders:read']);
    const [id = ''] = await ids();
    const carls = await gateway.addMailbox(dovecot.imap(), 'carl');
    await gateway.rest('PUT', `/mailboxes/${carls}/credentials`, { password: 'not the password' });
    await gateway.waitForState(carls, 'auth_failed', 15_000);
    const refused = [
      await gateway.rest('GET', `${mailbox}/messages`, undefined, { token: revoked.token }),
      await gateway.rest('GET', `${mailbox}/messages`, undefined, { token: narrow.token }),
      await gateway.rest('GET', '/mailboxes/mbx_unknown'),
      await gateway.rest('POST', `${mailbox}/move`, { message_ids: [id], folder: 'flagged' }),
      await gateway.rest('PATCH', mailbox, { display_name: 'x' }, { headers: { 'if-match': '"0"' } }),
      await gateway.rest('PATCH', mailbox, {
        imap: { host: '10.0.0.1', port: 993, security: 'tls' },
        auth: { type: 'password', username: 'anna', password: PASSWORD },
      }),
      await gateway.rest('GET', `/mailboxes/${carls}/messages`),
    ];
    expect(refused.map(({ status }) => status)).to.deep.equal([401, 403, 404, 409, 412, 422, 424]);
    await caughtUp();
    for (const answer of refused) {
      const found = await refusals(answer);
      expect(
        found.map(({ data }) => data.code),
        String(answer.status),
      ).to.deep.equal([answer.body.error.code]);
      expect(found[0].outcome).to.equal(answer.status < 405 ? 'denied' : 'failed');
      expect(found[0].actor.id).to.equal(gateway.tokens.userId);
    }
  });

  it(`records no line for a malformed request ${verifies('contract:12:not-recorded')}`, async () => {
    const path = `${mailbox}/email.query`;
    const send = (raw: string, type = 'application/json') =>
      gateway.rest('POST', path, undefined, { raw, headers: { 'content-type': type } });
    const malformed = [
      await send('{'),
      await gateway.rest('PUT', '/identity'),
      await send('{}'.padEnd(1_048_577)),
      await send('{}', 'text/plain'),
    ];
    expect(malformed.map(({ status }) => status)).to.deep.equal([400, 405, 413, 415]);
    const mcp = await fetch(`${gateway.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.tokens.mcpToken}`,
        accept: 'application/json',
        'content-type': 'application/json',
      },
      body: '{}',
    });
    await mcp.text();
    expect(mcp.status).to.equal(406);
    await caughtUp();
    for (const answer of malformed)
      expect(await lines(`request_id=${requestIdOf(answer)}`)).to.deep.equal([]);
    const ofMcp = await lines(`request_id=${mcp.headers.get('request-id') ?? ''}`);
    expect(ofMcp).to.deep.equal([]);
  });

  it(`records a line for bodies before they are answered ${verifies('contract:12:body-reads', 'contract:4:body-read-event')}`, async () => {
    const { events } = gateway.gateway.ports;
    const before = await events.headPosition();
    const answer = await gateway.rest('GET', `${mailbox}/messages?include_body=text`);
    // No wait: the event stands in the log by the time of the answer.
    expect(await events.headPosition()).not.to.equal(before);
    await caughtUp();
    const found = await lines(`request_id=${requestIdOf(answer)}`);
    expect(found.map(({ type }) => type)).to.deep.equal(['BodiesRead']);
    expect(found[0].data.message_ids).to.have.members(answer.body.items.map(({ id }: Json) => id));
    const headOnly = await gateway.rest('GET', `${mailbox}/messages`);
    await caughtUp();
    expect(await lines(`request_id=${requestIdOf(headOnly)}`)).to.deep.equal([]);
  });

  it(`withholds bodies while the store is down, and still refuses ${verifies('contract:12:store-down')}`, async () => {
    const { accessLog } = gateway.gateway.ports;
    const record = accessLog.record.bind(accessLog);
    const away = new GatewayError('store_unavailable', 'The event store is away.');
    Object.assign(accessLog, { record: () => Promise.reject(away) });
    const body = await gateway.rest('GET', `${mailbox}/messages?include_body=text`);
    const summary = await gateway.rest('GET', `${mailbox}/messages`);
    const unknown = await gateway.rest('GET', '/mailboxes/mbx_unknown');
    Object.assign(accessLog, { record });
    expect(body.body.error).to.include({ status: 503, code: 'store_unavailable', retryable: true });
    expect(summary.status).to.equal(200);
    expect(unknown.body.error).to.include({ status: 404, code: 'not_found' });
    expect((await gateway.rest('GET', `${mailbox}/messages?include_body=text`)).status).to.equal(200);
  });

  it(`shows sealed texts in clear, also deep in the data ${verifies('contract:12:sealed')}`, async () => {
    const wanted = { to: ['bob@example.org'], subject: 'Plans', text: 'Soon.' };
    const started = await gateway.rest('POST', `${mailbox}/start_draft`, wanted, { key: 'audited-draft' });
    expect(started.status, JSON.stringify(started.body)).to.equal(201);
    await caughtUp();
    const [line] = await lines(`type=DraftStarted&request_id=${requestIdOf(started)}`);
    const { to, subject } = JSON.parse(String(line.data.draft.envelope)) as Record<string, unknown>;
    expect(JSON.stringify({ to, subject })).to.include('bob@example.org').and.include('Plans');
  });

  it(`filters by time, actor, type, resource, mailbox, outcome and request ${verifies('contract:17:audit', 'contract:12:line')}`, async () => {
    const [id = ''] = await ids();
    const acted = await gateway.rest('POST', `${mailbox}/set_flags`, { message_ids: [id], flagged: true });
    const operationId = String(acted.body.operation_id);
    await caughtUp();
    const all = await lines(`resource=${operationId}&order=asc`);
    expect(all).to.have.length(5);
    const [first] = all;
    expect(first).to.have.all.keys(
      'id', 'seq', 'type', 'occurred_at', 'actor', 'surface', 'request_id', 'correlation_id', 'causation_id',
      'resource', 'mailbox_id', 'action', 'outcome', 'data', 'position', 'hash', 'names',
    ); // prettier-ignore
    expect(first).to.include({ surface: 'rest', action: 'set_flags', mailbox_id: mailboxId });
    expect(first.position).to.match(/^\d+$/);
    expect(first.actor).to.include({ ip: '127.0.0.1' });
    const narrowed = [
      `actor=${gateway.tokens.userId}`,
      `mailbox_id=${mailboxId}`,
      `request_id=${requestIdOf(acted)}`,
      `from=${String(first.occurred_at)}`,
      `to=${new Date(Date.now() + 60_000).toISOString()}`,
    ];
    for (const condition of narrowed) {
      const found = await lines(`resource=${operationId}&order=asc&${condition}`);
      expect(found, condition).to.deep.equal(all);
    }
    const others = ['actor=usr_x', 'mailbox_id=mbx_x', 'request_id=req_x', `to=${String(first.occurred_at)}`];
    for (const condition of others) {
      expect(await lines(`resource=${operationId}&${condition}`), condition).to.deep.equal([]);
    }
    const decided = await lines(`resource=${operationId}&type=OperationDecided&outcome=allowed`);
    expect(decided).to.deep.equal([all[1]]);
    expect(await lines(`resource=${operationId}`)).to.deep.equal(all.toReversed());
    const { body: page } = await gateway.rest('GET', `/audit?resource=${operationId}&limit=3`);
    const rest = await lines(`resource=${operationId}&limit=3&cursor=${String(page.page.next_cursor)}`);
    expect([...page.items, ...rest]).to.deep.equal(all.toReversed());
    expect((await gateway.rest('GET', `/audit/${String(first.id)}`)).body).to.deep.include(first);
    expect((await gateway.rest('GET', '/audit/evt_unknown')).status).to.equal(404);
    expect((await gateway.rest('GET', '/audit?actors=x')).status).to.equal(400);
  });

  it(`hides mailbox events from tokens without it, and verifiers from every caller ${verifies('contract:12:data-of-mailbox', 'contract:12:no-verifier')}`, async () => {
    const other = await gateway.addMailbox(dovecot.imap(), 'bob');
    const limited = async (mailboxIds: readonly string[]): Promise<string> => {
      const wanted = { name: 'looks', surface: 'rest', scopes: ['audit:read'], expires_at: inAnHour() };
      const { body } = await gateway.rest('POST', '/tokens', { ...wanted, mailbox_ids: mailboxIds });
      return String(body.token);
    };
    const [own, others] = [await limited([mailboxId]), await limited([other])];
    const [id = ''] = await ids();
    const acted = await gateway.rest('POST', `${mailbox}/set_flags`, { message_ids: [id], flagged: true });
    await caughtUp();
    const seenBy = async (token: string): Promise<Json[]> => {
      const path = `/audit?request_id=${requestIdOf(acted)}&limit=200`;
      return (await gateway.rest('GET', path, undefined, { token })).body.items as Json[];
    };
    const hidden = await seenBy(others);
    expect(hidden).to.have.length(5);
    expect(hidden.every((line) => line.mailbox_id === mailboxId && line.data === undefined)).to.equal(true);
    expect((await seenBy(own)).every(({ data }) => data !== undefined)).to.equal(true);
    const one = await gateway.rest('GET', `/audit/${String(hidden[0].id)}`, undefined, { token: others });
    expect(one.body).not.to.have.property('data');
    const issued = await lines('type=TokenIssued');
    expect(issued.length).to.be.above(1);
    for (const { data } of issued)
      expect(data).to.include({ surface: data.surface }).and.not.have.property('secret_hash');
  });

  it(`returns every line of an approval by its id ${verifies('contract:12:approval-lines')}`, async () => {
    const [id = ''] = await ids();
    const wanted = { message_ids: [id], folder: 'trash', reason: 'Tidy up.' };
    const asked = await gateway.rest('POST', `${mailbox}/wants_to_move`, wanted, { key: 'audited-approval' });
    expect(asked.status, JSON.stringify(asked.body)).to.be.within(200, 202);
    const approvalId = String(asked.body.approval.id);
    const gone = await gateway.rest('POST', `/approvals/${approvalId}/cancel_approval`, {});
    expect(gone.status, JSON.stringify(gone.body)).to.equal(200);
    await caughtUp();
    const found = await lines(`resource=${approvalId}&order=asc`);
    expect(found.map(({ type }) => type)).to.include.members([
      'OperationSubmitted',
      'OperationDecided',
      'ApprovalRequested',
      'ApprovalCancelled',
    ]);
    expect(found.every((line) => line.approval_id === approvalId)).to.equal(true);
    expect(found[0].mailbox_id).to.equal(mailboxId);
  });

  it(`records a line for each upload and for each read of a draft's content ${verifies('contract:12:draft-reads')}`, async () => {
    const [id = ''] = await ids();
    const forwarded = { to: ['bob@example.org'], forward_of: id, text: 'See below.' };
    const started = await gateway.rest('POST', `${mailbox}/start_draft`, forwarded, {
      key: 'audited-forward',
    });
    expect(started.status, JSON.stringify(started.body)).to.equal(201);
    const draftId = String(started.body.id);
    const uploaded = await gateway.rest('POST', `/drafts/${draftId}/attachments`, undefined, {
      raw: 'bytes',
      headers: { 'content-type': 'text/plain' },
    });
    expect(uploaded.status, JSON.stringify(uploaded.body)).to.equal(201);
    const read = await gateway.rest('GET', `/drafts/${draftId}/content`);
    const plain = await gateway.rest('GET', `/drafts/${draftId}`);
    await caughtUp();
    const [upload, ...more] = await lines(`request_id=${requestIdOf(uploaded)}`);
    expect(more).to.deep.equal([]);
    expect(upload).to.deep.include({
      type: 'AttachmentUploaded',
      resource: { type: 'draft', id: draftId },
      mailbox_id: mailboxId,
    });
    expect(upload?.data).to.include({ upload_id: uploaded.body.id, size: 5 });
    const [line] = await lines(`request_id=${requestIdOf(read)}`);
    expect(line).to.deep.include({ type: 'BodiesRead', resource: { type: 'draft', id: draftId } });
    expect(line?.data).to.deep.include({ what: 'draft', draft_ids: [draftId], message_ids: [id] });
    expect(await lines(`request_id=${requestIdOf(plain)}`)).to.deep.equal([]);
    // Nothing of this is in the log to be guessed: neither whose message it was nor which bytes were attached.
    const log = JSON.stringify(
      (await gateway.gateway.ports.events.readAll(null, 10_000)).map(({ data }) => data),
    );
    expect(log).to.include(String(uploaded.body.id)).and.not.include('one@example.org');
    expect(log).not.to.include('two@example.org').and.not.include(String(uploaded.body.sha256));
  });

  it(`counts refusals of unknown callers and of rate-limited ones ${verifies('contract:12:unauthenticated-counted')}`, async () => {
    const { accessLog } = gateway.gateway.ports;
    const counted: string[] = [];
    const countRefusal = accessLog.countRefusal.bind(accessLog);
    Object.assign(accessLog, {
      countRefusal: (code: string, source: string) => {
        counted.push(`${code} ${source}`);
      },
    });
    await gateway.rest('GET', '/identity', undefined, { token: null });
    await gateway.rest('GET', '/identity', undefined, { token: `mgw_${'0'.repeat(49)}` });
    const { limits } = gateway.gateway.ports.server;
    const { concurrentRequests } = limits;
    Object.assign(limits, { concurrentRequests: 0 });
    const tooMany = await gateway.rest('GET', '/identity');
    Object.assign(limits, { concurrentRequests });
    Object.assign(accessLog, { countRefusal });
    expect(tooMany.status).to.equal(429);
    const [first = '', second, limited = ''] = counted;
    expect(counted).to.have.length(3);
    expect(first).to.match(/^unauthenticated addr_[0-9a-f]+$/);
    expect(second, 'the same source').to.equal(first);
    expect(limited).to.match(/^rate_limited tok_/);
  });
});
