import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { writePosition } from '../../commands/values/position.ts';
import { simpleParser } from 'mailparser';
import { draft as draftAggregate } from '../../commands/drafts/draft.ts';
import { freezeDraft } from '../../commands/sending/freeze-draft.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { DraftCalls } from './draft-calls.ts';
import { type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const emails = (addresses: Json): string[] => addresses.map(({ email }: Json) => email as string) as string[];

describe('drafts', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let anna: string;
  let drafts: DraftCalls;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId: anna } = await startWithMailbox(dovecot));
    drafts = new DraftCalls(gateway, anna);
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const receive = (raw: string, word: string): Promise<Json> =>
    drafts.receive(dovecot.imap(), 'anna', raw, word);
  /** The message as it would be sent. */
  const frozen = async (draftId: string) => {
    const { ports } = gateway.gateway;
    const { state } = await loadAggregate(ports.events, draftAggregate, draftId);
    const mailbox = ports.directory.state.mailboxes.get(anna);
    if (!mailbox) throw new Error('no mailbox');
    const facts = await freezeDraft(ports, { draftId, operationId: 'opn_1', mailbox, state });
    const pieces: Uint8Array[] = [];
    for await (const piece of ports.content.open(facts.mime_id)) pieces.push(piece);
    return {
      facts,
      raw: Buffer.concat(pieces),
      smtp: JSON.parse((await ports.personal.open(facts.smtp_envelope)) ?? ''),
    };
  };
  const ports = () => gateway.gateway.ports;
  const headPosition = async (): Promise<Record<string, string>> => ({
    'if-position': writePosition(ports().server.logId, await ports().events.headPosition()),
  });

  it(`start from Markdown and are returned by a read ${verifies('contract:17:start-draft', 'contract:7:draft', 'contract:17:route-start-draft', 'contract:7:verbs')}`, async () => {
    const { status, headers, body } = await drafts.start({
      to: ['bob@example.org', { name: 'Zoë', email: 'zoe@bücher.example' }],
      bcc: ['secret@example.org'],
      from: { name: 'Anna at work', email: 'anna@example.com' },
      subject: 'Grüße',
      headers: { Keywords: 'T-1' },
      markdown: '# Hello\n\n*there* <script>alert(1)</script> [x](javascript:alert(1))',
      attachments: [{ filename: 'note.txt', content_type: 'text/plain', content_base64: 'aGVsbG8=' }],
    });
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(headers.get('etag')).to.equal('"1.0"');
    expect(headers.get('location')).to.equal(`/api/v1/drafts/${body.id}`);
    expect(body).to.include({ status: 'open', kind: 'new', subject: 'Grüße', version: 1, mailbox_id: anna });
    const read = await gateway.rest('GET', `/drafts/${body.id}`);
    expect(read.body).to.deep.equal(body);
    expect(read.headers.get('etag')).to.equal('"1.0"');
    const content = await drafts.get(`/drafts/${body.id}/content`);
    expect(content).to.have.all.keys('text', 'html', 'markdown', 'attachments');
    expect(content.html)
      .to.include('<em>there</em>')
      .and.not.match(/script/);
    expect(content.text).to.include('there');
    expect(content.markdown).to.match(/^# Hello/);
    expect(content.attachments).to.deep.equal(body.attachments);
    const { raw, facts, smtp } = await frozen(body.id);
    const sent = await simpleParser(raw);
    expect(smtp).to.deep.equal({
      from: 'anna@example.com',
      to: ['bob@example.org', 'zoe@xn--bcher-kva.example', 'secret@example.org'],
    });
    expect(facts).to.include({ needs_smtputf8: false, recipient_count: 3, version: 1 });
    expect(facts.mime_sha256).to.equal(createHash('sha256').update(raw).digest('hex'));
    expect(sent.from?.text).to.equal('"Anna at work" <anna@example.com>');
    expect(String(raw)).not.to.match(/^(?:Bcc|Date):/im);
    expect(String(sent.html).trim()).to.equal(content.html.trim());
    expect(sent.attachments[0]?.content.toString()).to.equal('hello');
  });

  it(`start once per key ${verifies('contract:14:draft-key')}`, async () => {
    const body = { subject: 'once' };
    const none = await gateway.rest('POST', `/mailboxes/${anna}/start_draft`, body);
    expect(none.body.error).to.include({ status: 400, code: 'idempotency_key_required' });
    const key = drafts.newKey();
    const [first, second] = [await drafts.start(body, { key }), await drafts.start(body, { key })];
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect(second.body).to.deep.equal(first.body);
    const other = await drafts.start({ subject: 'other' }, { key });
    expect(other.body.error.code).to.equal('idempotency_key_reused');
  });

  it(`answer a message to all recipients with a quotation ${verifies('contract:17:reply-to-thread', 'contract:7:reply-headers', 'contract:17:route-reply-to-thread')}`, async () => {
    const raw = plainMessage({
      subject: 'Re: RE: Plan',
      id: '<plan-2@example.org>',
      from: 'Bob <bob@example.org>',
      to: 'Anna <Anna@Example.com>, Carl <carl@example.org>',
      headers: ['References: <plan-1@example.org>', 'Cc: Dora <dora@example.org>, anna@example.com'],
      text: 'First line\r\n> older',
    });
    const { id } = await receive(raw, 'plan');
    const { status, body } = await drafts.reply({
      message_id: id, reply_all: true, text: 'Yes', to_add: ['eve@example.org', 'carl@example.org'],
    }); // prettier-ignore
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(body).to.include({ kind: 'reply_all', subject: 'Re: Plan', source_message_id: id });
    expect(body.in_reply_to).to.equal('<plan-2@example.org>');
    expect(emails(body.to)).to.deep.equal(['bob@example.org', 'eve@example.org', 'carl@example.org']);
    expect(emails(body.cc)).to.deep.equal(['dora@example.org']);
    const { text } = await drafts.get(`/drafts/${body.id}/content`);
    expect(text).to.match(/^Yes\n\nOn .*, Bob <bob@example.org> wrote:\n> First line\n>> older\n$/);
    const sent = await simpleParser((await frozen(body.id)).raw);
    expect([sent.inReplyTo, sent.references]).to.deep.equal([
      '<plan-2@example.org>',
      ['<plan-1@example.org>', '<plan-2@example.org>'],
    ]);
    const blind = await drafts.tokenWith(['drafts:write', 'drafts:read']);
    const unquoted = await drafts.reply({ message_id: id, html: '<b>No</b>' }, { token: blind });
    expect(emails(unquoted.body.to)).to.deep.equal(['bob@example.org']);
    expect((await drafts.get(`/drafts/${unquoted.body.id}/content`)).text).to.equal('No');
  });

  it(`forward a message with its attachments by reference ${verifies('contract:3:draft-scopes', 'contract:7:attachment-references')}`, async () => {
    const bytes = randomBytes(40_000);
    const raw = [
      'From: Bob <bob@example.org>', 'To: anna@example.com', 'Subject: Fwd: Report', 'Message-ID: <report@example.org>', 'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=x', '', '--x', 'Content-Type: text/plain', '', 'See below <b>', '--x',
      'Content-Type: application/pdf; name="../r.pdf"', 'Content-Disposition: attachment; filename="../r.pdf"', 'Content-Transfer-Encoding: base64', '',
      bytes.toString('base64').replaceAll(/.{76}/g, '$&\r\n'), '--x--', '',
    ].join('\r\n'); // prettier-ignore
    const { id } = await receive(raw, 'report');
    const { body } = await drafts.start({ forward_of: id, to: ['carl@example.org'], html: '<p>FYI</p>' });
    expect(body).to.include({ kind: 'forward', subject: 'Fwd: Report', source_message_id: id });
    expect(body.attachments[0].id).to.match(/^att_/);
    const sent = await simpleParser((await frozen(body.id)).raw);
    expect(sent.attachments[0]?.content.equals(bytes)).to.equal(true);
    expect(sent.attachments[0]?.filename).not.to.include('/');
    expect(sent.html).to.include('See below &lt;b&gt;');
    for (const [fields, lacking] of [
      [{ forward_of: id }, 'messages:body'],
      [{ attachments: [{ id: body.attachments[0].id }] }, 'attachments:read'],
    ] as const) {
      const scopes = ['drafts:write', 'drafts:read', 'messages:read'];
      const { body: refused } = await drafts.start(fields, { token: await drafts.tokenWith(scopes) });
      expect(refused.error.code).to.equal('insufficient_scope');
      expect(refused.error.details.required).to.include(lacking);
    }
    const forged = await drafts.start({
      attachments: [{ id: `${String(body.attachments[0].id).slice(0, -3)}000` }],
    });
    expect(forged.body.error.code).to.equal('not_found');
    const large = Buffer.alloc(200_000).toString('base64');
    const two = ['a', 'b'].map((filename) => ({ filename, content_base64: large }));
    expect((await drafts.start({ attachments: two })).body.error.code).to.equal('payload_too_large');
  });

  it(`refer to uploads of up to 25 MiB ${verifies('contract:7:upload')}`, async () => {
    const { id } = await drafts.started({ to: ['bob@example.org'] });
    const bytes = randomBytes(3 * 1024 * 1024);
    const answer = await drafts.upload(id, bytes, 'application/pdf; v=1', '?filename=%C3%BCber.pdf');
    const upload = (await answer.json()) as Json;
    expect(answer.status, JSON.stringify(upload)).to.equal(201);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(upload).to.include({
      filename: 'über.pdf',
      content_type: 'application/pdf',
      size: bytes.length,
      sha256,
    });
    expect((await drafts.get(`/drafts/${id}`)).attachments).to.deep.equal([]);
    const patched = await drafts.post(`/drafts/${id}/patch_draft`, {
      attachments: { add: [{ id: upload.id }] },
    });
    expect(patched.body.attachments[0]).to.include({ filename: 'über.pdf', sha256, inline: false });
    const other = await drafts.started({});
    const foreign = await drafts.post(`/drafts/${other.id}/patch_draft`, {
      attachments: { add: [{ id: upload.id }] },
    });
    expect(foreign.body.error.code).to.equal('not_found');
    for (const [type, query, status] of [
      ['text/plain', '?filename=a%0D%0Ab', 400], ['text/plain', '?filename=..%2Fa', 400], ['multipart/form-data; boundary=x', '', 415],
      ['not a type', '', 415], ['text/plain', '?colour=red', 400],
    ] as const) {
      expect((await drafts.upload(id, Buffer.from('x'), type, query)).status, `${type} ${query}`).to.equal(status);
    } // prettier-ignore
    expect(await drafts.announce(id, 25 * 1024 * 1024 + 1)).to.equal(413);
    const sent = await simpleParser((await frozen(id)).raw);
    expect(sent.attachments[0]?.content.equals(bytes)).to.equal(true);
  });

  it(`change field by field or as a whole ${verifies('contract:7:patch', 'contract:7:edit-replaces', 'contract:17:route-patch-draft', 'contract:17:route-edit-draft')}`, async () => {
    const file = (filename: string) => ({ filename, content_base64: 'aGk=' });
    const { id, attachments } = await drafts.started({
      to: ['a@example.org'], cc: ['b@example.org'], subject: 'One', html: '<p>Hi</p>', attachments: [file('a'), file('b')],
      headers: { Keywords: '1' }, reply_to: ['desk@example.com'],
    }); // prettier-ignore
    const patch = (body: object) => drafts.post(`/drafts/${id}/patch_draft`, body);
    const two = await patch({
      cc: null,
      subject: 'Two',
      attachments: { add: [file('c')], remove: [attachments[0].id] },
    });
    expect(two.body).to.include({ version: 2, subject: 'Two' });
    expect([emails(two.body.to), two.body.cc, emails(two.body.reply_to)]).to.deep.equal([
      ['a@example.org'],
      [],
      ['desk@example.com'],
    ]);
    expect(two.body.attachments.map(({ filename }: Json) => filename as string)).to.deep.equal(['b', 'c']);
    expect((await drafts.get(`/drafts/${id}/content`)).html).to.equal('<p>Hi</p>');
    expect((await patch({ cc: null, subject: 'Two' })).body.version, 'no change, no version').to.equal(2);
    await patch({ html: null, attachments: null, headers: null });
    expect(await drafts.get(`/drafts/${id}/content`)).to.deep.equal({
      text: 'Hi',
      html: null,
      markdown: null,
      attachments: [],
    });
    const whole = {
      to: ['z@example.org'],
      cc: [],
      bcc: [],
      subject: '',
      text: 'New',
      attachments: [file('z')],
    };
    const four = await drafts.post(`/drafts/${id}/edit_draft`, whole);
    expect(four.body).to.deep.include({ version: 4, subject: '', reply_to: [], headers: {} });
    const { subject: _, ...partial } = whole;
    expect((await drafts.post(`/drafts/${id}/edit_draft`, partial)).status).to.equal(400);
    expect((await patch({ text: 'a', html: 'b' })).body.error.code).to.equal('invalid_request');
    expect((await patch({ from: 'eve@example.net' })).body.error.details.issues[0].path).to.equal('from');
  });

  it(`refuse a change when it is based on another version ${verifies('contract:7:version', 'contract:0:if-match')}`, async () => {
    const { id } = await drafts.started({ subject: 'v1' });
    const path = `/drafts/${id}/patch_draft`;
    expect((await drafts.post(path, { subject: 'v2', expected_version: 1 })).body.version).to.equal(2);
    const stale = { body: { error: { code: 'version_conflict', status: 412, details: { version: 2 } } } };
    expect(await drafts.post(path, { subject: 'v3', expected_version: 1 })).to.deep.nested.include(
      flat(stale),
    );
    const ifMatch = (v: number) => ({ headers: { 'if-match': `"${String(v)}.${String(v - 1)}"` } });
    expect(await drafts.post(path, { subject: 'v3' }, ifMatch(1))).to.deep.nested.include(flat(stale));
    expect((await drafts.post(path, { subject: 'v3' }, ifMatch(2))).body.version).to.equal(3);
    expect((await drafts.post(path, { subject: 'x', expected_version: 2 }, ifMatch(3))).status).to.equal(400);
    expect((await gateway.rest('DELETE', `/drafts/${id}`, undefined, ifMatch(2))).status).to.equal(412);
    const whole = { to: [], cc: [], bcc: [], subject: 'v4', text: 'New', attachments: [] };
    for (const [verb, body] of [
      ['edit_draft', whole],
      ['discard_draft', {}],
      ['send_draft', {}],
    ] as const) {
      const answer = await drafts.post(`/drafts/${id}/${verb}`, body, ifMatch(2));
      expect(answer.body.error, verb).to.include({ code: 'version_conflict', status: 412 });
    }
    const at = await Promise.all(
      ['a', 'b', 'c'].map((subject) => drafts.post(path, { subject, expected_version: 3 })),
    );
    expect(at.map(({ status }) => status).toSorted()).to.deep.equal([200, 412, 412]);
  });

  it(`are discarded with their content by both routes ${verifies('contract:17:discard-draft', 'contract:10:discarded', 'contract:17:route-discard-draft')}`, async () => {
    const [one, two] = [await drafts.started({ text: 'a' }), await drafts.started({ text: 'b' })];
    const removed = await gateway.rest('DELETE', `/drafts/${one.id}`);
    expect([removed.status, removed.body]).to.deep.equal([204, null]);
    expect((await drafts.post(`/drafts/${two.id}/discard_draft`, {})).body.status).to.equal('discarded');
    for (const { id } of [one, two]) {
      expect((await drafts.get(`/drafts/${id}`)).status).to.equal('discarded');
      expect(await drafts.get(`/drafts/${id}/content`)).to.include({ text: null });
      expect((await gateway.rest('DELETE', `/drafts/${id}`)).status).to.equal(204);
      const locked = await drafts.post(`/drafts/${id}/patch_draft`, { subject: 'x' });
      expect(locked.body.error).to.include({ status: 409, code: 'draft_locked' });
      expect((await drafts.upload(id, Buffer.from('x'), 'text/plain')).status).to.equal(409);
    }
  });

  it(`are listed by status and mailbox, page by page ${verifies('contract:17:drafts', 'contract:17:route-drafts')}`, async () => {
    const berta = await gateway.addMailbox(dovecot.imap(), 'berta');
    const made = await new DraftCalls(gateway, berta).start({ subject: 'hers' }, { key: 'berta-1' });
    const mine = [await drafts.started({ subject: 'l1' }), await drafts.started({ subject: 'l2' })];
    const list = async (query: string): Promise<Json> =>
      (await gateway.rest('GET', `/drafts?${query}`, undefined, { headers: await headPosition() })).body;
    expect((await list(`mailbox_id=${berta}`)).items).to.deep.equal([made.body]);
    const first = await list(`mailbox_id=${anna}&status=open&limit=1`);
    expect(first.items).to.deep.equal([mine[1]]);
    const next = await list(
      `mailbox_id=${anna}&status=open&limit=1&cursor=${String(first.page.next_cursor)}`,
    );
    expect(next.items).to.deep.equal([mine[0]]);
    const cursor = String(first.page.next_cursor);
    expect((await list(`status=open&cursor=${cursor}`)).error.code).to.equal('cursor_invalid');
    expect((await list('status=lost')).error.code).to.equal('invalid_request');
    expect((await list('mailbox_id=mbx_none')).error.code).to.equal('not_found');
  });

  it(`return an earlier state when as_of is given ${verifies('contract:17:draft-as-of')}`, async () => {
    const { id } = await drafts.started({ subject: 'before', text: 'old' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const then = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await drafts.post(`/drafts/${id}/patch_draft`, { subject: 'after', text: 'new' });
    expect(await drafts.get(`/drafts/${id}?as_of=${then}`)).to.include({ subject: 'before', version: 1 });
    expect((await drafts.get(`/drafts/${id}/content?as_of=${then}`)).text).to.equal('old');
    const tooEarly = await gateway.rest('GET', `/drafts/${id}?as_of=2020-01-01T00:00:00Z`);
    expect(tooEarly.status).to.equal(404);
    expect((await gateway.rest('GET', `/drafts/${id}?as_of=yesterday`)).status).to.equal(400);
  });

  it(`are hidden from callers without access ${verifies('contract:3:draft-not-found')}`, async () => {
    const { id } = await drafts.started({ subject: 'private' });
    const without = await drafts.tokenWith(['drafts:write']);
    expect((await gateway.rest('GET', `/drafts/${id}`, undefined, { token: without })).body.error).to.include({
      status: 403, code: 'insufficient_scope',
    }); // prettier-ignore
    const carla = await gateway.addMailbox(dovecot.imap(), 'carla');
    const { body: bound } = await gateway.rest('POST', '/tokens', {
      name: 'bound', principal_id: gateway.tokens.agentId, surface: 'rest', scopes: ['drafts:read', 'drafts:write', 'drafts:discard'],
      mailbox_ids: [carla], expires_at: new Date(Date.now() + 3_600_000),
    }); // prettier-ignore
    const token = bound.token as string;
    for (const [method, path] of [
      ['GET', ''], ['GET', '/content'], ['POST', '/patch_draft'], ['POST', '/discard_draft'], ['DELETE', ''],
    ] as const) {
      const answer = await gateway.rest(method, `/drafts/${id}${path}`, method === 'POST' ? {} : undefined, { token });
      expect(answer.body.error, `${method} ${path}`).to.include({ status: 404, code: 'not_found' });
    } // prettier-ignore
    for (const unknown of ['drf_00000000000000000000000000', 'drf_x', 'nothing']) {
      expect((await gateway.rest('GET', `/drafts/${unknown}`)).status).to.equal(404);
    }
  });

  it(`refuse hostile recipients and too many of them ${verifies('contract:15:recipients')}`, async () => {
    const many = Array.from({ length: 60 }, (_, index) => `r${String(index)}@example.org`);
    const tooMany = await drafts.start({ to: many, cc: many });
    expect(tooMany.body.error.details.issues[0].message).to.match(/at most 100/);
    for (const fields of [
      { subject: 'a\r\nBcc: eve@example.net' }, { to: [{ name: 'a\nb', email: 'a@example.org' }] }, { to: ['a@example.org\r\nBcc: b@c.d'] },
      { headers: { Bcc: 'eve@example.net' } }, { headers: { 'X-A': 'a\nb' } }, { subject: '=?utf-8?Q?=0D=0ABcc:_x?=' },
      { attachments: [{ filename: 'a\r\n', content_base64: '' }] }, { attachments: [{ filename: 'a', content_type: 'a/b\r\nX: y', content_base64: '' }] },
    ]) {
      expect((await drafts.start(fields)).body.error?.code, JSON.stringify(fields)).to.equal('invalid_request');
    } // prettier-ignore
  });

  it(`return the same over MCP ${verifies('contract:17:get-draft', 'contract:7:content')}`, async () => {
    const fields = { to: ['bob@example.org'], subject: 'Both', text: 'Hello' };
    const key = { idempotency_key: 'mcp-1', mailbox_id: anna };
    const { structuredContent: made } = await drafts.tool('start_draft', { ...fields, ...key });
    const replayed = await drafts.tool('start_draft', { ...fields, ...key });
    expect(replayed.structuredContent.id).to.equal(made.id);
    expect(await drafts.get(`/drafts/${made.id}`)).to.deep.equal(made);
    const one = await drafts.tool('get_draft', { draft_id: made.id, include_content: true });
    const content = await drafts.get(`/drafts/${made.id}/content`);
    expect(one.structuredContent).to.deep.equal({ ...made, content });
    const select = { type: 'drafts', draft_id: made.id, include_content: true };
    const byQuery = await drafts.tool('email_query', { select: { mailbox_id: anna, ...select } });
    expect(byQuery.structuredContent.items).to.deep.equal([one.structuredContent]);
    const edit = { ...fields, draft_id: made.id, cc: [], bcc: [], attachments: [], subject: 'Edited' };
    expect((await drafts.tool('edit_draft', edit)).structuredContent.version).to.equal(2);
    const patch = { draft_id: made.id, subject: 'Patched', expected_version: 2 };
    expect((await drafts.tool('patch_draft', patch)).structuredContent).to.include({ version: 3 });
    const conflict = await drafts.tool('patch_draft', { ...patch, subject: 'again' });
    expect(conflict.isError).to.equal(true);
    expect(conflict.structuredContent.error).to.include({ code: 'version_conflict', status: 412 });
    expect((await drafts.tool('discard_draft', { draft_id: made.id })).structuredContent.status).to.equal(
      'discarded',
    );
    await ports().readModels.waitFor(await ports().events.headPosition(), 5_000);
    const listed = await drafts.tool('get_draft', { status: 'discarded', mailbox_id: anna });
    expect(listed.structuredContent.items[0].id).to.equal(made.id);
    const mixed = await drafts.tool('get_draft', { draft_id: made.id, status: 'open' });
    expect(mixed.structuredContent.error.code).to.equal('invalid_request');
  });
});

/** Dotted paths of what is expected somewhere inside an answer. */
function flat(value: Json, path = ''): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([name, member]: [string, Json]) => {
      const here = path === '' ? name : `${path}.${name}`;
      return typeof member === 'object' ? Object.entries(flat(member, here)) : [[here, member]];
    }),
  );
}
