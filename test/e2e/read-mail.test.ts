import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const mail = (subject: string, options: { from?: string; text?: string; id?: string } = {}): string =>
  [
    `From: ${options.from ?? 'Berta Beispiel <berta@example.org>'}`,
    'To: Anna <anna@example.com>',
    `Subject: ${subject}`,
    `Message-ID: <${options.id ?? subject.replaceAll(/\W/g, '')}@example.org>`,
    'Date: Mon, 02 Feb 2026 10:00:00 +0000',
    'Content-Type: text/plain; charset=utf-8',
    '',
    options.text ?? `Text of ${subject}.`,
    '',
  ].join('\r\n');

describe('reading mail through the whole gateway', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailbox: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    const messages = Array.from({ length: 25 }, (_, index) => ({
      raw: mail(`Report ${String(index)}`),
      flags: index % 5 === 0 ? ['\\Seen'] : [],
      receivedAt: new Date(Date.UTC(2026, 0, 1 + index)),
    }));
    await appendMessages(dovecot.imap(), 'anna', [
      ...messages,
      {
        raw: mail('Antwort: Grüße', { text: 'Danke!\r\n> zitiert\r\n> nochmal\r\nEnde' }),
        receivedAt: new Date(Date.UTC(2026, 1, 5)),
      },
      { folder: 'Archive', raw: mail('Old one'), receivedAt: new Date(Date.UTC(2025, 0, 1)) },
      { folder: 'Trash', raw: mail('Thrown away'), receivedAt: new Date(Date.UTC(2026, 2, 1)) },
    ]);
    const started = await startWithMailbox(dovecot);
    gateway = started.gateway;
    mailbox = `/mailboxes/${started.mailboxId}`;
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  it(`lists the inbox newest first, page by page, each message once ${verifies('contract:4:folder-absent', 'contract:4:reads', 'contract:0:collection', 'contract:0:cursor', 'contract:17:route-messages', 'contract:4:include-body-none')}`, async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const from = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { status, body } = await gateway.rest(
        'GET',
        `${mailbox}/messages?folder=inbox&limit=10&include_body=none${from}`,
      );
      expect(status).to.equal(200);
      expect(body.items.length).to.be.at.most(10);
      for (const item of body.items) {
        expect(item.id).to.match(/^msg_/);
        expect(item.folder.role).to.equal('inbox');
        expect(item).not.to.have.property('body');
        seen.push(item.subject as string);
      }
      cursor = body.page.next_cursor as string | null;
    } while (cursor !== null);
    expect(seen).to.have.length(26);
    expect(new Set(seen).size).to.equal(26);
    expect(seen.slice(0, 3)).to.deep.equal(['Antwort: Grüße', 'Report 24', 'Report 23']);
  });

  it('returns an unchanged page again, each change at once, and nothing without the right', async () => {
    const path = `${mailbox}/messages?folder=archive`;
    const listed = () => gateway.rest('GET', path);
    const answers = await Promise.all(Array.from({ length: 8 }, listed));
    answers.push(await listed(), await listed(), await listed());
    const first = answers[0]?.body.items[0];
    expect(first.subject).to.equal('Old one');
    for (const { body } of answers) {
      expect(body.items).to.deep.equal([first]);
      expect(body.page).to.deep.include({ next_cursor: null, limit: 50 });
    }
    for (const flagged of [true, false]) {
      const actions = [{ type: 'set_flags', flagged }];
      const operation = { type: 'message_actions', select: { message_ids: [first.id] }, actions };
      const key = `flagged-${String(flagged)}`;
      const acted = await gateway.rest('POST', `${mailbox}/email.act`, { operation }, { key });
      expect(acted.body.results[0]).to.include({ outcome: 'done' });
      for (let time = 0; time < 3; time += 1) {
        expect((await listed()).body.items).to.deep.equal([{ ...first, flagged }]);
      }
    }
    const ids = await gateway.rest('POST', `${mailbox}/email.query`, {
      select: { folder: 'archive' },
      view: 'ids',
    });
    expect(ids.body.items).to.deep.equal([{ id: first.id }]);
    const { body: narrow } = await gateway.rest('POST', '/tokens', {
      name: 'narrow', surface: 'rest', scopes: ['mailboxes:read'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    }); // prettier-ignore
    const refused = await gateway.rest('GET', path, undefined, { token: narrow.token as string });
    expect(refused.body.error).to.include({ status: 403, code: 'insufficient_scope' });
  });

  it(`answers a query by filter, order and view ${verifies('contract:4:message-filters', 'contract:17:route-email-query', 'contract:4:email-query-select', 'contract:4:email-query-view')}`, async () => {
    const { body } = await gateway.rest('POST', `${mailbox}/email.query`, {
      select: {
        folder: 'inbox',
        filter: { seen: true, subject_contains: 'report' },
        order_by: 'received_asc',
      },
      view: 'headers',
    });
    expect(body.items.map((item: { subject: string }) => item.subject)).to.deep.equal([
      'Report 0', 'Report 5', 'Report 10', 'Report 15', 'Report 20',
    ]); // prettier-ignore
    expect(body.items[0].message_id).to.equal('<Report0@example.org>');
    expect(body.items[0].seen).to.equal(true);
  });

  it(`folds case and marks, and skips trash and junk unless "all" is given ${verifies('contract:4:folder-absent', 'contract:4:folded-matching')}`, async () => {
    const query = async (select: object) =>
      (await gateway.rest('POST', `${mailbox}/email.query`, { select, view: 'count' })).body.count as number;
    expect(await query({ filter: { subject_contains: 'GRUSSE' } })).to.equal(1);
    expect(await query({ filter: { subject_contains: 'grüße' } })).to.equal(1);
    expect(
      await query({ filter: { any: [{ subject_contains: 'old' }, { subject_contains: 'thrown' }] } }),
    ).to.equal(1);
    const all = {
      folder: 'all',
      filter: { any: [{ subject_contains: 'old' }, { subject_contains: 'thrown' }] },
    };
    expect(await query(all)).to.equal(2);
  });

  it(`returns text with marked quotations, leaves the seen flag alone and records one read event ${verifies('contract:4:reading-keeps-unseen', 'contract:4:body-read-event')}`, async () => {
    const select = { folder: 'inbox', filter: { subject_contains: 'Antwort' } };
    const first = await gateway.rest('POST', `${mailbox}/email.query`, { select, include_body: 'text' });
    const [message] = first.body.items;
    expect(message.body.content).to.include('Danke!');
    const [range] = message.body.quoted_ranges;
    expect(message.body.content.slice(range.start, range.end)).to.match(/^> zitiert\r?\n> nochmal$/);
    expect(message.seen).to.equal(false);
    const again = await gateway.rest('POST', `${mailbox}/email.query`, { select });
    expect(again.body.items[0].seen).to.equal(false);
    expect(again.body.items[0]).not.to.have.any.keys('body', 'preview');
    const reads = await eventually(async () => {
      const found = await gateway.rest('GET', '/audit?type=BodiesRead');
      expect(found.body.items).to.have.length(1);
      return found;
    });
    expect(reads.body.items[0].data.message_ids).to.deep.equal([message.id]);
  });

  it('continues a long body from an offset', async () => {
    const { body: found } = await gateway.rest('POST', `${mailbox}/email.query`, {
      select: { filter: { subject_contains: 'Antwort' } },
      view: 'ids',
    });
    const ask = (offset: number) =>
      gateway.rest('POST', `${mailbox}/email.query`, {
        select: { message_ids: [found.items[0].id] },
        include_body: 'text',
        max_body_chars: 4,
        body_offset: offset,
      });
    const first = (await ask(0)).body.items[0].body;
    expect(first).to.include({ content: 'Dank', truncated: true, next_offset: 4 });
    const second = (await ask(4)).body.items[0].body;
    expect(second.content.startsWith('e!')).to.equal(true);
    expect(second.total_chars).to.equal(first.total_chars);
  });

  it(`lists folders with roles and counts ${verifies('contract:17:route-folders-list')}`, async () => {
    const { body } = await gateway.rest('GET', `${mailbox}/folders/list`);
    const inbox = body.items.find((folder: { role: string }) => folder.role === 'inbox');
    expect(inbox).to.include({ path: 'INBOX', total: 26, selectable: true });
    const roles = body.items.map((folder: { role: string | null }) => folder.role).filter(Boolean);
    expect(roles).to.include.members(['inbox', 'archive', 'trash', 'junk', 'sent', 'drafts']);
  });

  it('refuses unknown filter keys, bad values and cursors of another query', async () => {
    const refuse = async (body: object, code: string, status = 400) => {
      const answer = await gateway.rest('POST', `${mailbox}/email.query`, body);
      expect(answer.status).to.equal(status);
      expect(answer.body.error.code).to.equal(code);
      return answer.body.error.details;
    };
    const unknown = await refuse({ select: { filter: { sean: true } } }, 'invalid_request');
    expect(unknown.issues[0].path).to.equal('select.filter.sean');
    await refuse({ select: { limit: 201 } }, 'invalid_request');
    await refuse({ select: { order_by: 'newest' } }, 'invalid_request');
    await refuse({ select: {}, extra: 1 }, 'invalid_request');
    await refuse({ select: { folder: 'No/Such' } }, 'not_found', 404);
    const page = await gateway.rest('POST', `${mailbox}/email.query`, { select: { limit: 1 } });
    const cursor = page.body.page.next_cursor as string;
    await refuse({ select: { limit: 1, cursor, filter: { seen: true } } }, 'cursor_invalid');
    await refuse({ select: { limit: 1, cursor: `${cursor}x` } }, 'cursor_invalid');
  });
});
