import { expect } from 'chai';
import { ORDERS } from '../../commands/mail/query.ts';
import { decodeWaitCursor } from '../../commands/feed/wait-cursor.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const LONG = 'ä'.repeat(300_000);

const SUMMARY = [
  'id', 'origin', 'mailbox_id', 'folder', 'thread_id', 'subject', 'from', 'to', 'received_at',
  'seen', 'flagged', 'answered', 'draft', 'keywords', 'size', 'has_attachments', 'security',
]; // prettier-ignore
const HEADERS = [
  'cc',
  'bcc',
  'reply_to',
  'message_id',
  'in_reply_to',
  'references',
  'sent_at',
  'auto_submitted',
];

const RICH = [
  'From: Berta <berta@example.org>',
  'To: Anna <anna@example.com>, team@example.com',
  'Cc: Carl <carl@example.org>',
  'Bcc: hidden@example.org',
  'Reply-To: answers@example.org',
  'Subject: Rich',
  'Message-ID: <rich@example.org>',
  'In-Reply-To: <before@example.org>',
  'References: <root@example.org> <before@example.org>',
  'Date: Mon, 02 Feb 2026 10:00:00 +0100',
  'Auto-Submitted: auto-generated',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'The needle is here.',
  '--b',
  'Content-Type: application/pdf',
  'Content-Disposition: attachment; filename=report.pdf',
  '',
  'pdf',
  '--b--',
  '',
].join('\r\n');

/** Every value of a field whose name says that it is a moment. */
function instantsIn(value: Json): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]): [string, unknown][] => [
    ...(name.endsWith('_at') && member !== null ? [[name, member] as [string, unknown]] : []),
    ...instantsIn(member),
  ]);
}

describe('the contract for reading mail', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let mailbox: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    const receivedAt = (day: number): Date => new Date(Date.UTC(2026, 0, day));
    await appendMessages(dovecot.imap(), 'anna', [
      ...Array.from({ length: 55 }, (_, index) => ({
        raw: plainMessage({ subject: `Note ${String(index)}`, id: `<note-${String(index)}@example.org>` }),
        receivedAt: receivedAt(1),
      })),
      { raw: RICH, receivedAt: receivedAt(20) },
      ...Array.from({ length: 9 }, (_, index) => ({
        folder: 'Long',
        raw: plainMessage({ subject: 'Long one', id: `<long-${String(index)}@example.org>`, text: LONG }),
      })),
      { folder: 'inbox2', raw: plainMessage({ subject: 'Elsewhere', id: '<elsewhere@example.org>' }) },
    ]);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
    mailbox = `/mailboxes/${mailboxId}`;
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const query = (select: object, more: object = {}, token?: string) =>
    gateway.rest('POST', `${mailbox}/email.query`, { select, ...more }, token === undefined ? {} : { token });
  const list = (parameters: string) => gateway.rest('GET', `${mailbox}/messages?${parameters}`);
  const rich = (more: object) => query({ filter: { subject_contains: 'Rich' } }, more);

  const tokenWith = async (...scopes: string[]): Promise<string> => {
    const { body } = await gateway.rest('POST', '/tokens', {
      name: 'narrow', surface: 'rest', scopes, expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    }); // prettier-ignore
    return body.token as string;
  };

  it(`returns a summary unless the request asks for more ${verifies('contract:4:summary')}`, async () => {
    for (const view of [undefined, 'summary']) {
      const [message] = (await rich(view === undefined ? {} : { view })).body.items;
      expect(message).to.have.all.keys(SUMMARY);
      expect(message).to.deep.include({
        mailbox_id: mailboxId,
        subject: 'Rich',
        from: [{ name: 'Berta', email: 'berta@example.org' }],
        received_at: '2026-01-20T00:00:00.000Z',
        has_attachments: true,
      });
      expect(message.folder).to.have.all.keys('id', 'path', 'role');
    }
    const [listed] = (await list('limit=1')).body.items;
    expect(listed).to.have.all.keys(SUMMARY);
  });

  it(`adds addresses, threading and times in the view headers ${verifies('contract:4:headers')}`, async () => {
    const [message] = (await rich({ view: 'headers' })).body.items;
    expect(message).to.have.all.keys([...SUMMARY, ...HEADERS]);
    expect(message).to.deep.include({
      cc: [{ name: 'Carl', email: 'carl@example.org' }],
      bcc: [{ name: null, email: 'hidden@example.org' }],
      reply_to: [{ name: null, email: 'answers@example.org' }],
      message_id: '<rich@example.org>',
      in_reply_to: '<before@example.org>',
      references: ['<root@example.org>', '<before@example.org>'],
      sent_at: '2026-02-02T09:00:00.000Z',
      auto_submitted: 'auto-generated',
    });
  });

  it(`adds attachments and security in the view full ${verifies('contract:4:full')}`, async () => {
    const [message] = (await rich({ view: 'full' })).body.items;
    expect(message).to.have.all.keys([...SUMMARY, ...HEADERS, 'attachments']);
    const [attachment] = message.attachments;
    expect(attachment).to.include({ filename: 'report.pdf', content_type: 'application/pdf', inline: false });
  });

  it(`returns only ids or only a count ${verifies('contract:4:view-ids', 'contract:4:view-count')}`, async () => {
    const ids = (await query({ folder: 'inbox', limit: 3 }, { view: 'ids' })).body.items;
    expect(ids).to.have.length(3);
    for (const item of ids) expect(item).to.have.all.keys('id');
    const counted = (await query({ folder: 'inbox' }, { view: 'count' })).body;
    expect(counted).to.deep.include({ items: [], count: 56, exact: true });
  });

  it(`groups by conversation ${verifies('contract:4:view-threads')}`, async () => {
    const { body } = await rich({ view: 'threads' });
    const summary = (await rich({})).body.items[0];
    expect(body.items).to.deep.equal([
      { thread_id: summary.thread_id, message_ids: [summary.id], latest: summary },
    ]);
    const all = await query({ limit: 20 }, { view: 'threads' });
    expect(all.body.items).to.have.length(20);
    expect(all.body.page.next_cursor).to.be.a('string');
    const byId = await query({ message_ids: [summary.id] }, { view: 'threads' });
    expect(byId.body.error.code).to.equal('invalid_request');
  });

  it(`returns with every page the cursor from which a wait continues ${verifies('contract:4:as-of')}`, async () => {
    const listed = await list('limit=1');
    const pages = [listed, await rich({}), await query({ message_ids: [listed.body.items[0].id] })];
    for (const { body } of pages) {
      const { position } = decodeWaitCursor(gateway.gateway.ports.server.logId, body.page.as_of as string);
      expect(position > 0n && position <= (await gateway.gateway.ports.events.headPosition())).to.equal(true);
    }
  });

  it(`shortens bodies requested by id to the size of one answer ${verifies('contract:4:body-bytes-by-id')}`, async () => {
    const { body: found } = await query({ folder: 'Long' }, { view: 'ids' });
    const select = { message_ids: found.items.map(({ id }: { id: string }) => id) };
    const { body } = await query(select, { include_body: 'text', max_body_chars: 262_144 });
    const bodies = body.items.map((item: Json) => item.body) as Json[];
    expect(bodies).to.have.length(9);
    const bytes = bodies.reduce((sum: number, { content }) => sum + Buffer.byteLength(content as string), 0);
    expect(bytes).to.be.within(4_000_000, 4 * 1024 * 1024);
    for (const { content, truncated, next_offset } of bodies) {
      expect([truncated, next_offset, /^ä+$/.test(content)]).to.deep.equal([true, content.length, true]);
    }
  });

  it(`returns every order, newest received first by default ${verifies('contract:4:orders')}`, async () => {
    expect(ORDERS).to.have.members([
      'received_desc', 'received_asc', 'sent_desc', 'sent_asc', 'size_desc', 'size_asc', 'subject_asc', 'from_asc',
    ]); // prettier-ignore
    const idsBy = async (order_by?: string): Promise<string[]> => {
      const { status, body } = await query({ folder: 'inbox', limit: 200, order_by }, { view: 'ids' });
      expect(status, order_by).to.equal(200);
      return body.items.map(({ id }: { id: string }) => id) as string[];
    };
    const byDefault = await idsBy();
    expect(await idsBy('received_desc')).to.deep.equal(byDefault);
    for (const order of ORDERS) expect(await idsBy(order)).to.have.members(byDefault);
    expect(await idsBy('received_asc')).to.deep.equal(byDefault.toReversed());
    expect(await idsBy('size_asc')).to.deep.equal((await idsBy('size_desc')).toReversed());
  });

  it(`returns 50 items a page, at most 200, and the page's place ${verifies('contract:4:page', 'contract:4:page-limits')}`, async () => {
    const first = (await list('')).body;
    expect(first.items).to.have.length(50);
    expect(first.page.limit).to.equal(50);
    expect(first.page.as_of).to.match(/^wc1_/);
    const second = (await list(`cursor=${String(first.page.next_cursor)}`)).body;
    expect(second.items).to.have.length(6);
    expect(second.page.next_cursor).to.equal(null);
    expect((await list('limit=200')).body.page).to.include({ limit: 200, next_cursor: null });
    for (const answer of [await list('limit=201'), await query({ limit: 201 }), await list('limit=0')]) {
      expect(answer.body.error).to.include({ status: 400, code: 'invalid_request' });
    }
  });

  it(`accepts a cursor only for the request that returned it ${verifies('contract:4:cursor-bound')}`, async () => {
    const select = { folder: 'inbox', limit: 5 };
    const cursor = (await query(select)).body.page.next_cursor as string;
    expect((await query({ ...select, cursor })).status).to.equal(200);
    const byList = (await list('folder=inbox&limit=5')).body.page.next_cursor as string;
    const others = [
      await list(`folder=inbox&limit=5&cursor=${cursor}`),
      await query({ ...select, cursor: byList }),
      await query({ ...select, cursor, order_by: 'received_asc' }),
      await query({ ...select, cursor, filter: { seen: false } }),
      await query({ ...select, cursor, folder: 'archive' }),
      await gateway.rest('GET', `/mailboxes?cursor=${cursor}`),
    ];
    const { body: agent } = await gateway.rest('POST', '/tokens', {
      name: 'agent', principal_id: gateway.tokens.agentId, surface: 'rest', scopes: ['messages:read'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    }); // prettier-ignore
    others.push(await query({ ...select, cursor }, {}, agent.token as string));
    for (const { body } of others) expect(body.error).to.include({ status: 400, code: 'cursor_invalid' });
  });

  it(`returns bodies only with the scope messages:body ${verifies('contract:4:body-scope')}`, async () => {
    const token = await tokenWith('messages:read');
    const select = { filter: { subject_contains: 'Rich' } };
    expect((await query(select, {}, token)).status).to.equal(200);
    const path = `${mailbox}/messages?include_body=text`;
    const answers = [
      await query(select, { include_body: 'text' }, token),
      await gateway.rest('GET', path, undefined, { token }),
    ];
    for (const { body } of answers) {
      expect(body.error).to.deep.include({
        code: 'insufficient_scope',
        details: { required: ['messages:body'] },
      });
    }
    const both = await tokenWith('messages:read', 'messages:body');
    const [message] = (await query(select, { include_body: 'text' }, both)).body.items;
    expect(message.body.content).to.include('needle');
    expect(message.preview).to.include('needle');
  });

  it(`cuts a body at the requested characters and reports it ${verifies('contract:4:body-shape', 'contract:4:body-cut')}`, async () => {
    const select = { folder: 'Long', limit: 1 };
    const bodyWith = async (more: object): Promise<Json> =>
      (await query(select, { include_body: 'text', ...more })).body.items[0].body;
    const cut = await bodyWith({});
    expect(cut).to.have.all.keys(
      'format', 'content', 'truncated', 'total_chars', 'next_offset', 'quoted_ranges',
    ); // prettier-ignore
    expect(cut).to.include({ format: 'text', truncated: true, next_offset: 32_768 });
    expect(cut.content).to.have.length(32_768);
    expect(cut.total_chars).to.be.within(300_000, 300_002);
    expect((await bodyWith({ max_body_chars: 262_144 })).content).to.have.length(262_144);
    const over = await query(select, { include_body: 'text', max_body_chars: 262_145 });
    expect(over.body.error).to.include({ status: 400, code: 'invalid_request' });
    const [small] = (await rich({ include_body: 'text' })).body.items;
    expect(small.body).to.include({ truncated: false, next_offset: null });
  });

  it(`continues the body of exactly one message ${verifies('contract:4:body-offset')}`, async () => {
    const found = await query({ folder: 'inbox', limit: 2 }, { view: 'ids' });
    const [first, second] = found.body.items.map(({ id }: { id: string }) => id);
    const window = { include_body: 'text', body_offset: 4 };
    expect((await query({ message_ids: [first] }, window)).status).to.equal(200);
    for (const refused of [
      await query({ message_ids: [first, second] }, window),
      await query({ folder: 'inbox', limit: 1 }, window),
      await query({ message_ids: [first] }, { body_offset: 4 }),
    ]) {
      expect(refused.status).to.equal(400);
      expect(refused.body.error.details.issues[0].path).to.equal('body_offset');
    }
  });

  it(`returns at most 50 bodies and 4 MiB at once, and the rest as further pages ${verifies('contract:4:body-limits', 'contract:4:body-bytes')}`, async () => {
    const many = (await list('limit=200&include_body=text')).body;
    expect(many.items).to.have.length(50);
    expect(many.page.limit).to.equal(50);
    expect(many.page.next_cursor).to.be.a('string');

    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const select: object = cursor === null ? { folder: 'Long' } : { folder: 'Long', cursor };
      const { body } = await query(select, { include_body: 'text', max_body_chars: 262_144 });
      const bytes = body.items.reduce(
        (sum: number, item: Json) => sum + Buffer.byteLength(String(item.body.content)),
        0,
      );
      expect(bytes).to.be.at.most(4 * 1_024 * 1_024);
      seen.push(...(body.items.map(({ id }: { id: string }) => id) as string[]));
      cursor = body.page.next_cursor as string | null;
    } while (cursor !== null && seen.length < 20);
    expect(new Set(seen).size).to.equal(9);
    expect(seen).to.have.length(9);
  });

  it(`names the conditions that the mail server evaluates ${verifies('contract:4:server-defined')}`, async () => {
    const identity = (await gateway.rest('GET', '/identity')).body;
    expect(identity.mailboxes[0].server_defined).to.deep.equal(['body_contains', 'header']);
    for (const filter of [
      { body_contains: 'needle' },
      { header: { name: 'Auto-Submitted', contains: 'auto-generated' } },
    ]) {
      const { body } = await query({ folder: 'inbox', filter });
      expect(body.items.map((item: Json) => item.subject)).to.deep.equal(['Rich']);
      expect(body.page.evaluated_by).to.equal('mail_server');
    }
    const ours = await query({ folder: 'inbox', filter: { subject_contains: 'Rich' } });
    expect(ours.body.page.evaluated_by).to.equal('gateway');
  });

  it(`reads only the mailbox of the path ${verifies('contract:4:select-mailbox')}`, async () => {
    expect((await query({ mailbox_id: mailboxId, limit: 1 })).status).to.equal(200);
    const other = await query({ mailbox_id: 'mbx_other', limit: 1 });
    expect(other.status).to.equal(400);
    expect(other.body.error.details.issues[0].path).to.equal('select.mailbox_id');
  });

  it(`accepts every field of a query and of a list ${verifies('contract:17:email-query', 'contract:17:messages')}`, async () => {
    const everything = await query(
      { mailbox_id: mailboxId, folder: 'inbox', filter: { seen: false }, order_by: 'sent_asc', limit: 2 },
      { view: 'full', include_body: 'text', max_body_chars: 5 },
    );
    expect(everything.body.items).to.have.length(2);
    expect(everything.body.items[0].body.content).to.have.length(5);
    const { next_cursor: cursor } = everything.body.page;
    const further = await query(
      { folder: 'inbox', filter: { seen: false }, order_by: 'sent_asc', limit: 2, cursor },
      { view: 'full' },
    );
    expect(further.status).to.equal(200);
    const { body: listed } = await list('folder=inbox2&limit=1&include_body=text&max_body_chars=5');
    expect(listed.items[0]).to.deep.include({ subject: 'Elsewhere' });
    expect(listed.items[0].body.content).to.equal('Hello');
    expect((await list('folder=inbox&view=full')).body.error.details.issues[0].path).to.equal('view');
  });

  it(`describes folders as a collection ${verifies('contract:4:folder', 'contract:17:list-folders')}`, async () => {
    const { body } = await gateway.rest('GET', `${mailbox}/folders/list?limit=2`);
    expect(body).to.have.all.keys('items', 'page');
    expect(body.items).to.have.length(2);
    const rest = await gateway.rest('GET', `${mailbox}/folders/list?cursor=${String(body.page.next_cursor)}`);
    const folders = [...body.items, ...rest.body.items] as Json[];
    for (const folder of folders) {
      expect(folder).to.have.all.keys(
        'id', 'path', 'name', 'role', 'role_source', 'parent_id', 'total', 'unseen', 'selectable',
      ); // prettier-ignore
    }
    const called = (path: string): Json => folders.find((folder) => folder.path === path);
    expect(called('INBOX')).to.include({
      role: 'inbox',
      total: 56,
      unseen: 56,
      selectable: true,
      parent_id: null,
    });
    expect(called('Archive')).to.include({ role: 'archive', role_source: 'extension' });
    expect(called('Long')).to.include({ role: null, role_source: null, total: 9 });
    await gateway.rest('PUT', `${mailbox}/folder-roles`, { important: called('Long').id });
    const after = await gateway.rest('GET', `${mailbox}/folders/list`);
    const mapped = after.body.items.find((folder: Json) => folder.path === 'Long');
    expect(mapped).to.include({ role: 'important', role_source: 'user' });
  });

  it(`writes times in UTC with milliseconds ${verifies('contract:0:instants')}`, async () => {
    const answers = [
      await rich({ view: 'full' }),
      ...(await Promise.all(
        ['/identity', '/mailboxes', '/tokens', '/agents', `${mailbox}/grants`, '/audit'].map((path) =>
          gateway.rest('GET', path),
        ),
      )),
    ];
    for (const { body } of answers) {
      const found = instantsIn(body);
      expect(found).not.to.deep.equal([]);
      for (const [name, value] of found) expect(value, name).to.match(INSTANT);
    }
  });
});
