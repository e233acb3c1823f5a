import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/dovecot.ts';
import {
  type Answer,
  type CallOptions,
  eventually,
  type Json,
  startWithMailbox,
  type TestGateway,
} from '../support/gateway.ts';
import { appendMessages, plainMessage } from '../support/mail-append.ts';

describe('drafts', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let anna: string;
  let keys = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId: anna } = await startWithMailbox(dovecot));
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const newKey = (): string => {
    keys += 1;
    return `draft-${String(keys)}`;
  };
  const post = (path: string, body: object, options: CallOptions = {}): Promise<Answer> =>
    gateway.rest('POST', path, body, { key: newKey(), ...options });
  const start = (body: object, options?: CallOptions): Promise<Answer> =>
    post(`/mailboxes/${anna}/start_draft`, body, options);
  const headPosition = async (): Promise<string> => String(await gateway.gateway.ports.events.headPosition());
  const get = async (path: string): Promise<Json> => (await gateway.rest('GET', path)).body;

  it('starts one and shows it', async () => {
    const { status, headers, body } = await start({
      to: ['bob@example.org', { name: 'Zoë', email: 'zoe@bücher.example' }],
      subject: 'Grüße',
      markdown: '# Hello\n\n*there* <script>alert(1)</script>',
      attachments: [{ filename: 'note.txt', content_type: 'text/plain', content_base64: 'aGVsbG8=' }],
    });
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(headers.get('etag')).to.equal('"1"');
    expect(headers.get('location')).to.equal(`/api/v1/drafts/${body.id}`);
    expect(body).to.include({ status: 'open', kind: 'new', subject: 'Grüße', version: 1 });
    expect(await get(`/drafts/${body.id}`)).to.deep.equal(body);
    const content = await get(`/drafts/${body.id}/content`);
    expect(content.html).to.include('<em>there</em>').and.not.include('script');
    expect(content.text).to.include('there');
    expect(content.attachments[0]).to.include({ filename: 'note.txt', size: 5 });
  });

  it('takes uploads', async () => {
    const { body: draft } = await start({ to: ['bob@example.org'] });
    const bytes = Buffer.alloc(300_000, 'abc');
    const answer = await gateway.rest('POST', `/drafts/${draft.id}/attachments?filename=a.pdf`, undefined, {
      raw: bytes.toString('latin1'),
      headers: { 'content-type': 'application/pdf' },
    });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    expect(answer.body).to.include({ filename: 'a.pdf', content_type: 'application/pdf', size: 300_000 });
    expect(answer.body.sha256).to.equal(createHash('sha256').update(bytes).digest('hex'));
    const patched = await post(`/drafts/${draft.id}/patch_draft`, {
      attachments: { add: [{ id: answer.body.id }] },
    });
    expect(patched.body.attachments[0]).to.include({ filename: 'a.pdf', size: 300_000 });
    expect(patched.body.version).to.equal(2);
  });

  it('answers a message', async () => {
    const raw = plainMessage({
      subject: 'Re: RE: Plan',
      id: '<plan-2@example.org>',
      from: 'Bob <bob@example.org>',
      to: 'Anna <anna@example.com>, Carl <carl@example.org>',
      headers: ['References: <plan-1@example.org>', 'Cc: Dora <dora@example.org>, anna@example.com'],
      text: 'First line\r\n> older',
    });
    await appendMessages(dovecot.imap(), 'anna', [{ raw }]);
    const found = await eventually(async () => {
      const select = { filter: { subject_contains: 'plan' } };
      const { body } = await gateway.rest('POST', `/mailboxes/${anna}/email.query`, { select });
      expect(body.items).to.have.length(1);
      return body;
    });
    const { status, body } = await post(`/mailboxes/${anna}/reply_to_thread`, {
      message_id: found.items[0].id,
      reply_all: true,
      text: 'Yes',
      to_add: ['eve@example.org'],
    });
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(body).to.include({ kind: 'reply_all', subject: 'Re: Plan', in_reply_to: '<plan-2@example.org>' });
    expect(body.to.map(({ email }: Json) => email as string)).to.deep.equal([
      'bob@example.org',
      'eve@example.org',
    ]);
    expect(body.cc.map(({ email }: Json) => email as string)).to.deep.equal([
      'carl@example.org',
      'dora@example.org',
    ]);
    const { text } = await get(`/drafts/${body.id}/content`);
    expect(text).to.match(/^Yes\n\nOn .*, Bob <bob@example.org> wrote:\n> First line\n>> older\n/);
  });

  it('lists and discards', async () => {
    const { body: draft } = await start({ subject: 'to go' });
    const at = { headers: { 'if-position': await headPosition() } };
    const { body: page } = await gateway.rest('GET', '/drafts?status=open&limit=2', undefined, at);
    expect(page.items.map(({ id }: Json) => id as string)).to.include(draft.id);
    expect(await gateway.rest('DELETE', `/drafts/${draft.id}`)).to.include({ status: 204 });
    expect((await get(`/drafts/${draft.id}`)).status).to.equal('discarded');
    expect(await get(`/drafts/${draft.id}/content`)).to.include({ text: null });
  });
});
