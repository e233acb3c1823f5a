import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import { draft as draftAggregate } from '../../commands/drafts/draft.ts';
import { freezeDraft } from '../../commands/sending/freeze-draft.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { liveBuffers } from '../support/suite/live-buffers.ts';
import { verifies } from '../support/suite/verifies.ts';
import { DraftCalls } from './draft-calls.ts';

const MIB = 1024 * 1024;

describe('attachments of drafts', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let drafts: DraftCalls;
  let mailboxId: string;
  let path: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
    drafts = new DraftCalls(gateway, mailboxId);
    const { id } = await drafts.started({ subject: 'large' });
    path = `${gateway.baseUrl}/api/v1/drafts/${String(id)}/attachments`;
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  /** Sends without telling the length, as fast as it is taken; `look` runs now and then. */
  const upload = async (pieces: number, look: () => Promise<void>): Promise<number> => {
    const headers = {
      authorization: `Bearer ${gateway.tokens.restToken}`,
      'content-type': 'application/zip',
    };
    const request = http.request(path, { method: 'POST', headers });
    const response = once(request, 'response') as Promise<[http.IncomingMessage]>;
    const answered = response.then(([{ statusCode = 0 }]) => statusCode);
    const state = { isOver: false };
    void answered.finally(() => (state.isOver = true));
    // Writing to a connection that was answered and closed is no failure of the test.
    request.on('error', () => undefined);
    const piece = randomBytes(MIB);
    for (let sent = 0; sent < pieces && !state.isOver; sent += 1) {
      if (!request.write(piece)) await Promise.race([once(request, 'drain'), answered]);
      if (sent % 4 === 0) await look();
    }
    request.end();
    return await answered;
  };

  it('stream with constant memory and are refused beyond 25 MiB', async () => {
    const before = await liveBuffers();
    let most = 0;
    const look = async (): Promise<void> => {
      most = Math.max(most, (await liveBuffers()) - before);
    };
    expect(await upload(25, look)).to.equal(201);
    expect(most, 'bytes held, client and server together').to.be.below(6 * MIB);
    expect(await upload(27, () => Promise.resolve())).to.equal(413);
    const [row] = await gateway.gateway.ports.sql.query(
      'select count(*)::int as n from vault.content where kind = $1',
      ['upload'],
    );
    expect(row?.['n'], 'nothing is left of what was cut off').to.equal(1);
  });

  /** The message as it would be sent. */
  const frozen = async (draftId: string): Promise<string> => {
    const { ports } = gateway.gateway;
    const { state } = await loadAggregate(ports.events, draftAggregate, draftId);
    const mailbox = ports.directory.state.mailboxes.get(mailboxId);
    if (!mailbox) throw new Error('no mailbox');
    const { mime_id } = await freezeDraft(ports, { draftId, operationId: 'opn_1', mailbox, state });
    const pieces: Uint8Array[] = [];
    for await (const piece of ports.content.open(mime_id)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };

  it(`keep the pictures of forwarded HTML inline ${verifies('contract:7:forwarded-pictures')}`, async () => {
    const picture = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const part = (name: string, id: string) => [
      `Content-Type: image/png; name=${name}`, 'Content-Transfer-Encoding: base64', 'Content-Disposition: inline',
      `Content-ID: <${id}>`, '', picture.toString('base64'), '',
    ]; // prettier-ignore
    const html =
      '<p style="color:red">Look <img src="cid:logo.1@example.org" alt="Logo"> <img src="https://track.example/x.png"></p>';
    const raw = [
      'From: Bob <bob@example.org>', 'To: anna@example.com', 'Subject: Picture', 'Message-ID: <picture@example.org>', 'MIME-Version: 1.0',
      'Content-Type: multipart/related; boundary=r', '', '--r', 'Content-Type: multipart/alternative; boundary=a', '',
      '--a', 'Content-Type: text/plain', '', 'Look', '--a', 'Content-Type: text/html', '', html, '--a--',
      '--r', ...part('logo.png', 'logo.1@example.org'), '--r', ...part('other.png', 'other@example.org'), '--r--', '',
    ].join('\r\n'); // prettier-ignore
    const { id } = await drafts.receive(dovecot.imap(), 'anna', raw, 'picture');
    const { body } = await drafts.start({ forward_of: id, to: ['carl@example.org'], text: 'FYI' });
    expect(
      body.attachments.map(({ filename, inline, content_id }: Json) => [filename, inline, content_id]),
    ).to.deep.equal([
      ['logo.png', true, 'logo.1@example.org'],
      ['other.png', false, null],
    ]);
    const content = await drafts.get(`/drafts/${body.id}/content`);
    expect(content.html)
      .to.match(/^<p>FYI<\/p>/)
      .and.include('src="cid:logo.1@example.org"')
      .and.not.include('track.example');
    expect(content.text).to.match(/^FYI\n\n---------- Forwarded message[^]*Look/);
    const sent = await frozen(body.id);
    expect(sent)
      .to.match(/Content-Type: multipart\/related/)
      .and.match(/Content-ID: <logo\.1@example\.org>/i);
    const { attachments } = await simpleParser(sent);
    expect(
      attachments.map(({ related, content: bytes }) => [related === true, bytes.equals(picture)]),
    ).to.have.deep.members([
      [true, true],
      [false, true],
    ]);
    const { body: asked } = await drafts.post(`/drafts/${body.id}/wants_to_send_draft`, {
      reason: 'A picture.',
    });
    const { manifest } = await drafts.get(`/approvals/${asked.approval.id}`);
    const sha256 = createHash('sha256').update(picture).digest('hex');
    expect(manifest.attachments.map((each: Json) => [each.filename, each.sha256])).to.deep.equal([
      ['logo.png', sha256],
      ['other.png', sha256],
    ]);
    const preview = await drafts.get(`/approvals/${asked.approval.id}/preview`);
    expect(JSON.stringify(preview)).to.include('attached picture').and.include('logo.png');
  });
});
