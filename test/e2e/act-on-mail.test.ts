import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, withClient } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const mail = (subject: string): string =>
  [
    'From: Berta <berta@example.org>',
    'To: Anna <anna@example.com>',
    `Subject: ${subject}`,
    `Message-ID: <${subject.replaceAll(/\W/g, '')}@example.org>`,
    '',
    'Hello.',
    '',
  ].join('\r\n');

interface Item {
  readonly id: string;
  readonly subject: string;
}

describe('email.act on messages', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let mailbox: string;
  let counter = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
    mailbox = `/mailboxes/${mailboxId}`;
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  /** Puts fresh messages into the inbox and gives their ids, in the order of the subjects. */
  const arrive = async (...subjects: string[]): Promise<string[]> => {
    counter += 1;
    const unique = subjects.map((subject) => `${subject} no ${String(counter)}`);
    await appendMessages(
      dovecot.imap(),
      'anna',
      unique.map((subject) => ({ raw: mail(subject) })),
    );
    const filter = { subject_contains: `no ${String(counter)}` };
    // The mail server takes its time to tell of them.
    return await eventually(async () => {
      const { body } = await gateway.rest('POST', `${mailbox}/email.query`, {
        select: { folder: 'inbox', filter },
      });
      const items = body.items as Item[];
      if (items.length < unique.length) throw new Error('not all of it has arrived');
      return unique.map((subject) => items.find((item) => item.subject === subject)?.id ?? '');
    });
  };

  const act = (
    operation: object,
    options: { key?: string; cardinality?: object; mode?: string; token?: string } = {},
  ) =>
    gateway.rest(
      'POST',
      `${mailbox}/email.act`,
      {
        operation: { type: 'message_actions', ...operation },
        ...(options.mode === undefined ? {} : { authorization: { mode: options.mode } }),
        ...(options.cardinality === undefined ? {} : { cardinality: options.cardinality }),
      },
      {
        key: options.key ?? `key-${String(Math.random())}`,
        ...(options.token === undefined ? {} : { token: options.token }),
      },
    );

  const inFolder = (folder: string, subject: string): Promise<number> =>
    withClient(dovecot.imap(), 'anna', async (client) => {
      const lock = await client.getMailboxLock(folder);
      try {
        const found = await client.search({ subject }, { uid: true });
        return found === false ? 0 : (found ?? []).length;
      } finally {
        lock.release();
      }
    });

  it(`archives a message, answers old and new id and resolves the old id as stale ${verifies('contract:4:stale-in-list', 'contract:6:reply', 'contract:6:completed-with-failures', 'contract:4:message-id-stale', 'contract:6:status-completed', 'contract:6:status', 'contract:17:route-email-act')}`, async () => {
    const [id = ''] = await arrive('Archive me');
    const { status, body } = await act({ select: { message_ids: [id] }, actions: [{ type: 'archive' }] });
    expect(status).to.equal(200);
    expect(body.status).to.equal('completed');
    expect(body.summary).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
    const [result] = body.results;
    expect(result).to.include({ message_id: id, action: 'archive', outcome: 'done' });
    expect(result.new_message_id).to.match(/^msg_/).and.not.to.equal(id);
    const read = await gateway.rest('POST', `${mailbox}/email.query`, {
      select: { message_ids: [id, result.new_message_id] },
    });
    expect(read.body.items[0].error.code).to.equal('message_stale');
    expect(read.body.items[1].folder.role).to.equal('archive');
    const again = await act({ select: { message_ids: [id] }, actions: [{ type: 'archive' }] });
    expect(again.body.status).to.equal('completed');
    expect(again.body.results[0]).to.include({ outcome: 'failed' });
    expect(again.body.results[0].error.code).to.equal('message_stale');
  });

  it(`records the operation in the audit with actor, token, request, outcome and resource ${verifies('contract:10:outcomes', 'contract:12:line', 'contract:17:route-audit', 'contract:12:read-only')}`, async () => {
    const [id = ''] = await arrive('Audit me');
    const { headers, body } = await act({ select: { message_ids: [id] }, actions: [{ type: 'archive' }] });
    const requestId = headers.get('request-id') ?? '';
    const items = await eventually(async () => {
      const audit = await gateway.rest('GET', `/audit?request_id=${requestId}&order=asc`);
      if (audit.body.items.length < 5) throw new Error('not all events yet');
      return audit.body.items;
    });
    expect(items.map((item: { type: string }) => item.type)).to.deep.equal([
      'OperationSubmitted', 'OperationDecided', 'ActionsIntended', 'ActionOutcomesRecorded', 'OperationCompleted',
    ]); // prettier-ignore
    for (const item of items) {
      expect(item.actor).to.include({ type: 'delegated', id: gateway.tokens.userId });
      expect(item.actor.token_id).to.match(/^tok_/);
      expect(item).to.include({
        request_id: requestId,
        mailbox_id: mailboxId,
        surface: 'rest',
      });
      expect(item.resource).to.deep.equal({ type: 'operation', id: body.operation_id });
    }
    expect(items.map((item: { outcome: string }) => item.outcome)).to.deep.equal([
      'pending', 'allowed', 'pending', 'allowed', 'allowed',
    ]); // prettier-ignore
    const sequence = items.map((item: { seq: number }) => item.seq);
    expect(sequence).to.deep.equal([0, 1, 2, 3, 4].map((step) => Number(sequence[0]) + step));
    const one = await gateway.rest('GET', `/audit/${String(items[0].id)}`);
    expect(one.body).to.deep.include(items[0]);
  });

  it('waits with If-Position until reads include the write', async () => {
    const [id = ''] = await arrive('Position');
    const { headers } = await act({ select: { message_ids: [id] }, actions: [{ type: 'trash' }] });
    const requestId = headers.get('request-id') ?? '';
    const position = headers.get('position') ?? '';
    expect(position).to.match(/^[0-9a-f]{8}-\d+$/);
    const audit = await gateway.rest('GET', `/audit?request_id=${requestId}`, undefined, {
      headers: { 'if-position': position },
    });
    expect(audit.headers.get('stale')).to.equal(null);
    expect(audit.body.items.map(({ type }: { type: string }) => type)).to.include('OperationCompleted');
  });

  it(`runs several actions in order and sets flags without changing ids ${verifies('contract:6:email-act-operation')}`, async () => {
    const [id = ''] = await arrive('Flag me');
    const actions = [
      { type: 'set_flags', seen: true, flagged: true, keywords_add: ['Later'] },
      { type: 'move', folder: 'Junk' },
    ];
    const { body } = await act({ select: { message_ids: [id] }, actions });
    expect(
      body.results.map((result: { action: string; outcome: string }) => [result.action, result.outcome]),
    ).to.deep.equal([
      ['set_flags', 'done'],
      ['move', 'done'],
    ]);
    expect(body.results[0]).not.to.have.property('new_message_id');
    const moved = await gateway.rest('POST', `${mailbox}/email.query`, {
      select: { message_ids: [body.results[1].new_message_id] },
    });
    expect(moved.body.items[0]).to.deep.include({ seen: true, flagged: true, keywords: ['Later'] });
    expect(moved.body.items[0].folder.role).to.equal('junk');
  });

  it(`replays a used key with the current state and refuses the key when the body differs ${verifies('contract:14:replayed', 'contract:14:reused', 'contract:14:header')}`, async () => {
    const [id = '', other = ''] = await arrive('Once', 'Other');
    const operation = { select: { message_ids: [id] }, actions: [{ type: 'copy', folder: 'archive' }] };
    const first = await act(operation, { key: 'copy-once' });
    const second = await act(operation, { key: 'copy-once' });
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect(second.body.original_status).to.equal('completed');
    expect(second.body.results).to.deep.equal(first.body.results);
    expect(await inFolder('Archive', 'Once no')).to.equal(1);
    const reused = await act({ ...operation, select: { message_ids: [other] } }, { key: 'copy-once' });
    expect(reused.status).to.equal(422);
    expect(reused.body.error.code).to.equal('idempotency_key_reused');
  });

  it(`runs one of two equal requests when they arrive at the same time ${verifies('contract:14:one-winner')}`, async () => {
    const [id = ''] = await arrive('Race');
    const operation = { select: { message_ids: [id] }, actions: [{ type: 'copy', folder: 'archive' }] };
    const answers = await Promise.all(Array.from({ length: 6 }, () => act(operation, { key: 'race' })));
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.body.summary.done).to.equal(1);
      else expect(answer.body.error).to.include({ status: 409, code: 'idempotency_in_progress' });
    }
    expect(answers.filter((answer) => answer.status === 200)).not.to.have.length(0);
    expect(await inFolder('Archive', 'Race no')).to.equal(1);
  });

  it(`runs nothing and frees the key when the selection is outside the cardinality ${verifies('contract:6:cardinality', 'contract:14:refused-frees', 'contract:6:email-act-cardinality')}`, async () => {
    const [a = '', b = ''] = await arrive('Card', 'Second card');
    const operation = { select: { message_ids: [a, b] }, actions: [{ type: 'trash' }] };
    const refused = await act(operation, { key: 'card', cardinality: { max: 1 } });
    expect(refused.status).to.equal(412);
    expect(refused.body.error).to.deep.include({
      code: 'cardinality_violation',
      details: { count: 2, min: 1, max: 1, suggested_tool: 'email_query' },
    });
    const declared = { folder: 'inbox', filter: { subject_contains: 'card no' } };
    const tooMany = await act(
      { select: declared, actions: [{ type: 'trash' }] },
      { cardinality: { max: 1 } },
    );
    expect(tooMany.body.error.details.count).to.equal(2);
    const noMax = await act({ select: declared, actions: [{ type: 'trash' }] });
    expect(noMax.body.error.code).to.equal('invalid_request');
    const ran = await act(operation, { key: 'card' });
    expect(ran.body.summary.done).to.equal(2);
  });

  it('acts on all matches of a filter', async () => {
    await arrive('Bulk', 'Second bulk', 'Third bulk');
    const select = { folder: 'inbox', filter: { subject_contains: 'Bulk no' } };
    const cardinality = { min: 3, max: 3 };
    const body = await eventually(async () => {
      const answer = await act({ select, actions: [{ type: 'spam' }] }, { cardinality });
      if (answer.status !== 200) throw new Error('not all of it is known yet');
      return answer.body;
    });
    expect(body.summary).to.deep.equal({ done: 3, failed: 0, unknown: 0 });
    expect(await inFolder('Junk', 'Bulk no')).to.equal(3);
  });

  it(`previews without changing anything or needing a key ${verifies('contract:6:preview-mode', 'contract:8:names-rule', 'contract:6:email-act-authorization')}`, async () => {
    const [id = ''] = await arrive('Preview');
    const { status, body } = await gateway.rest('POST', `${mailbox}/email.act`, {
      operation: { type: 'message_actions', select: { message_ids: [id] }, actions: [{ type: 'archive' }] },
      authorization: { mode: 'preview', reason: 'Only to see.' },
    });
    expect(status).to.equal(200);
    expect(body.status).to.equal('preview');
    expect(body.results).to.deep.equal([]);
    expect(body.preview.policy).to.deep.equal({
      decision: 'allow',
      rule_id: 'default.reversible',
      version: 0,
    });
    expect(body.preview.items[0].message_id).to.equal(id);
    expect(await inFolder('INBOX', 'Preview no')).to.equal(1);
  });

  it(`answers the direct verbs ${verifies('contract:6:acts', 'contract:17:route-move', 'contract:17:route-copy', 'contract:17:route-trash', 'contract:17:route-spam', 'contract:17:route-archive', 'contract:17:route-set-flags')}`, async () => {
    const [a = '', b = '', c = '', d = ''] = await arrive('Verb', 'Second verb', 'Third verb', 'Fourth verb');
    const verb = async (name: string, body: object, key?: string) =>
      (await gateway.rest('POST', `${mailbox}/${name}`, body, key === undefined ? {} : { key })).body;
    expect((await verb('set_flags', { message_ids: [a], seen: true })).summary.done).to.equal(1);
    expect((await verb('copy', { message_ids: [a], folder: 'sent' })).error.code).to.equal(
      'idempotency_key_required',
    );
    expect((await verb('copy', { message_ids: [a], folder: 'sent' }, 'verb-copy')).summary.done).to.equal(1);
    expect((await verb('move', { message_ids: [a], folder: 'archive' })).summary.done).to.equal(1);
    expect((await verb('trash', { message_ids: [b] })).summary.done).to.equal(1);
    expect((await verb('spam', { message_ids: [c] })).summary.done).to.equal(1);
    expect((await verb('archive', { message_ids: [d] })).summary.done).to.equal(1);
    expect(await inFolder('Archive', 'Fourth verb no')).to.equal(1);
  });

  it('answers not_found and runs nothing when an id is forged, foreign or malformed', async () => {
    const [good = ''] = await arrive('Good');
    const forged = `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`;
    for (const bad of [forged, 'msg_nonsense', 'x']) {
      const { status, body } = await act({
        select: { message_ids: [good, bad] },
        actions: [{ type: 'archive' }],
      });
      expect(status).to.equal(404);
      expect(body.error.code).to.equal('not_found');
    }
    expect(await inFolder('INBOX', 'Good no')).to.equal(1);
  });

  it("runs under the agent's own grant and records that in the audit", async () => {
    const [id = ''] = await arrive('Agent');
    const token = (
      await gateway.rest('POST', '/tokens', {
        name: 'agent rest',
        principal_id: gateway.tokens.agentId,
        surface: 'rest',
        scopes: ['messages:archive', 'messages:read'],
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      })
    ).body.token as string;
    const { body, headers } = await act(
      { select: { message_ids: [id] }, actions: [{ type: 'archive' }] },
      { token },
    );
    expect(body.summary.done).to.equal(1);
    const refused = await act({ select: { message_ids: [id] }, actions: [{ type: 'trash' }] }, { token });
    expect(refused.status).to.equal(403);
    expect(refused.body.error).to.deep.include({
      code: 'insufficient_scope',
      details: { required: ['messages:trash'] },
    });
    const position = headers.get('position') ?? '';
    const audit = await gateway.rest(
      'GET',
      `/audit?actor=${gateway.tokens.agentId}&limit=1&order=asc`,
      undefined,
      {
        headers: { 'if-position': position },
      },
    );
    expect(audit.body.items[0].actor.type).to.equal('agent');
    const denied = await eventually(async () => {
      const { body: found } = await gateway.rest('GET', '/audit?outcome=denied&type=RequestRefused&limit=1');
      if (found.items[0]?.data.code !== 'insufficient_scope') throw new Error('not yet');
      return found.items[0];
    });
    expect(denied.actor.id).to.equal(gateway.tokens.agentId);
  });
});
