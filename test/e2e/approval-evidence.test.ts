import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { asProgram } from '../support/audit/for-each-case.ts';
import { type Entry, fileOf } from '../support/audit/sample-trail.ts';
import { sha256 } from '../support/audit/sample-keys.ts';
import { verifyAudit } from '../../infra/console/verify-audit.mjs';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { eventually, type Json } from '../support/worlds/gateway.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { type SignedInPerson, signInNew, signInOwner } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const HOSTILE = '</script><img src=x onerror=alert(1)>';
const AGENT_SCOPES = [
  'approvals:read',
  'drafts:read',
  'drafts:send',
  'approvals:request',
  'approvals:commit',
];
const PYTHON = ['python3', join(import.meta.dirname, '../support/audit/verify_audit.py')];
const PROGRAM = [process.execPath, join(import.meta.dirname, '../../infra/console/verify-audit.mjs')];

interface Evidence {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

describe('evidence of an approval', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;
  let owner: SignedInPerson;
  let auditor: SignedInPerson;
  let member: SignedInPerson;
  let agentToken: string;
  let folder: string;
  /** A message that was sent. */
  let sent: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    world = await SendingWorld.open(dovecot, relay.port);
    const { gateway } = world;
    owner = await signInOwner(gateway);
    await owner.rest('PATCH', '/users/me', { name: 'Olga <b>Ott</b>' });
    auditor = await signInNew(gateway, 'auditor');
    member = await signInNew(gateway, 'member');
    const { body } = await gateway.rest('POST', '/tokens', {
      name: 'of the agent',
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      scopes: AGENT_SCOPES,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    agentToken = (body as { token: string }).token;
    folder = await mkdtemp(join(tmpdir(), 'gateway-evidence-'));
    sent = await sentApproval();
  });
  after(async () => {
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const decided = async ({ approval }: Json, voter = owner): Promise<string> => {
    const id = String(approval.id);
    await voter.rest('GET', `/approvals/${id}/preview`);
    const { content_hash } = approval;
    const vote = { decision: 'approve', content_hash, reason: `Fine. ${HOSTILE}` };
    const { status, body } = await voter.rest('POST', `/approvals/${id}/decision`, vote);
    expect(status, JSON.stringify(body)).to.equal(200);
    return id;
  };
  const committed = async (id: string, token = world.gateway.tokens.restToken): Promise<void> => {
    const path = `/approvals/${id}/approval_commit`;
    const { status, body } = await world.gateway.rest('POST', path, {}, { key: randomUUID(), token });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status).to.equal('completed');
  };
  async function sentApproval(voter = owner): Promise<string> {
    const { gateway, mailboxId } = world;
    const { body: draft } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/start_draft`,
      { to: ['bob@example.com'], subject: `Offer ${HOSTILE}`, text: 'Hello Bob.' },
      { key: randomUUID() },
    );
    const options = { key: randomUUID(), token: agentToken };
    const path = `/drafts/${String(draft.id)}/wants_to_send_draft`;
    const { status, body: asked } = await gateway.rest('POST', path, { reason: 'A greeting.' }, options);
    expect(status, JSON.stringify(asked)).to.equal(200);
    const id = await decided(asked, voter);
    await committed(id, agentToken);
    return id;
  }
  async function archivedApproval(): Promise<string> {
    const { gateway, mailboxId } = world;
    const raw = 'From: b@example.org\r\nSubject: To archive\r\nMessage-ID: <a@example.org>\r\n\r\nHello.\r\n';
    await appendMessages(dovecot.imap(), 'anna', [{ raw }]);
    const message = await eventually(async () => {
      const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages?folder=inbox`);
      const found = (body.items as Json[]).find(({ subject }) => subject === 'To archive');
      if (!found) throw new Error('it has not arrived');
      return String(found.id);
    });
    const { body } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/email.act`,
      {
        operation: { type: 'message_actions', select: { message_ids: [message] }, actions: [{ type: 'archive' }] },
        authorization: { mode: 'request_approval', reason: 'Because.' },
      },
      { key: randomUUID() },
    ); // prettier-ignore
    const id = await decided(body);
    await committed(id);
    return id;
  }

  const get = async (id: string, query = '', token = owner.bearer): Promise<Evidence> => {
    const url = `${world.gateway.baseUrl}/api/v1/approvals/${id}/evidence?${query}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const recordsOf = (text: string): Entry[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry);
  const keysOf = (text: string): readonly string[] => recordsOf(text)[0]?.['keys'] as string[];
  const verdict = async (
    text: string,
    keys: readonly string[],
  ): Promise<readonly [number, string | null]> => {
    const chunks = (async function* () {
      yield await Promise.resolve(Buffer.from(text));
    })();
    const { exit, code } = await verifyAudit(chunks, { keys });
    return [exit, code];
  };
  /** In both programs. */
  const proven = async (text: string): Promise<void> => {
    const [file, keys] = [join(folder, `${randomUUID()}.jsonl`), join(folder, 'keys.txt')];
    await writeFile(file, text);
    await writeFile(keys, keysOf(text).join('\n'));
    for (const program of [PROGRAM, PYTHON])
      expect(await asProgram(program)([file, '--key', keys, '--json']), program.join(' ')).to.deep.equal({
        ...{ exit: 0, code: null, record: null, offset: null },
      });
  };
  const typesIn = (text: string): readonly string[] =>
    recordsOf(text).flatMap(({ line, body }) =>
      typeof line === 'string' && body !== undefined ? [(JSON.parse(line) as { type: string }).type] : [],
    );
  const contentsIn = (text: string): ReadonlyMap<string, Entry> =>
    new Map(
      recordsOf(text).flatMap((record) =>
        record['t'] === 'content' ? [[String(record['name']), record]] : [],
      ),
    );
  const codeOf = ({ text }: Evidence): unknown => JSON.parse(text).error.code;

  it(`of a message is proven by two programs, with all that became of it ${verifies('contract:12:evidence')}`, async () => {
    const evidence = await get(sent);
    expect(evidence.status, evidence.text.slice(0, 500)).to.equal(200);
    expect(evidence.headers.get('content-type')).to.equal('application/x-ndjson');
    await proven(evidence.text);
    expect(typesIn(evidence.text)).to.include.members([
      ...[
        'OperationSubmitted',
        'OperationDecided',
        'ApprovalRequested',
        'ApprovalVoteCast',
        'ApprovalGranted',
      ],
      ...['CommitStarted', 'SendIntended', 'ApprovalCommitted'],
      ...['DraftFrozen', 'SendStarted', 'SendDataBegun', 'DraftSent'],
      ...['PolicySet', 'SessionStarted', 'BodiesRead'],
    ]);
    const contents = contentsIn(evidence.text);
    expect([...contents.keys()]).to.have.members(['manifest', 'preview.txt', 'policy.json', 'message.eml']);
    expect(contents.get('manifest')?.['text']).to.contain(HOSTILE);
    const message = Buffer.from(String(contents.get('message.eml')?.['base64']), 'base64').toString();
    expect(message).to.contain('Hello Bob.');
    const opened = JSON.stringify(recordsOf(evidence.text).map((record) => record['opened']));
    expect(opened).to.contain('Fine. ');
    const [header] = recordsOf(evidence.text);
    expect(header).to.include({ kind: 'evidence', mode: 'sparse', approval_id: sent });
  });

  it('of a change of messages is proven, too', async () => {
    const evidence = await get(await archivedApproval());
    await proven(evidence.text);
    expect(typesIn(evidence.text)).to.include.members([
      'ApprovalVoteCast',
      'ActionOutcomesRecorded',
      'PolicySet',
    ]);
    expect([...contentsIn(evidence.text).keys()]).to.have.members(['manifest', 'preview.txt', 'policy.json']);
  });

  it('of an approval that waits is proven, with no votes yet', async () => {
    const { gateway, mailboxId } = world;
    const text = { to: ['bob@example.com'], subject: 'Later', text: 'Hello Bob.' };
    const path = `/mailboxes/${mailboxId}/start_draft`;
    const { body: draft } = await gateway.rest('POST', path, text, { key: randomUUID() });
    const options = { key: randomUUID(), token: agentToken };
    const asking = `/drafts/${String(draft.id)}/wants_to_send_draft`;
    const { body } = await gateway.rest('POST', asking, { reason: 'A greeting.' }, options);
    const id = String(body.approval.id);
    const evidence = await get(id);
    await proven(evidence.text);
    expect(contentsIn(evidence.text).has('message.eml')).to.equal(true);
    const page = await get(id, 'format=html');
    expect(page.text).to.contain('No votes.').and.to.contain('Nothing was begun.');
    const part = await fetch(`${gateway.baseUrl}/api/v1/approvals/${id}/evidence`, {
      headers: { authorization: `Bearer ${owner.bearer}`, range: 'bytes=100-' },
    });
    expect([part.status, part.headers.get('accept-ranges')], 'another file').to.deep.equal([200, 'none']);
    await part.body?.cancel();
  });

  it('is refused where a vote, the message, the manifest or the policy was altered', async () => {
    const { text } = await get(sent);
    const altered = async (change: (record: Entry) => void): Promise<readonly [number, string | null]> => {
      const records = recordsOf(text).slice(0, -1);
      records.forEach(change);
      return await verdict(fileOf(records).toString(), keysOf(text));
    };
    expect(await altered(() => undefined)).to.deep.equal([0, null]);
    const inContent = (name: string, change: (bytes: Buffer) => Buffer) => (record: Entry) => {
      if (record['name'] !== name) return;
      const isText = typeof record['text'] === 'string';
      const bytes = change(
        Buffer.from(String(record['text'] ?? record['base64']), isText ? 'utf8' : 'base64'),
      );
      record['sha256'] = sha256(bytes).toString('hex');
      record[isText ? 'text' : 'base64'] = bytes.toString(isText ? 'utf8' : 'base64');
    };
    const bit = (bytes: Buffer): Buffer => {
      bytes.writeUInt8(bytes.readUInt8(bytes.length - 4) ^ 1, bytes.length - 4);
      return bytes;
    };
    const voted = (record: Entry): void => {
      if (!String(record['line']).includes('ApprovalVoteCast')) return;
      record['body'] = String(record['body']).replace('"decision":"approve"', '"decision":"reject"');
    };
    expect((await altered(voted))[0]).to.equal(1);
    for (const name of ['message.eml', 'manifest', 'policy.json'])
      expect(await altered(inContent(name, bit)), name).to.deep.equal([1, 'content_mismatch']);
  });

  it(`is given to who requested or may decide it, and with audit:export; what it is about only to those who may see it ${verifies('contract:12:evidence-access')}`, async () => {
    const ofAgent = await get(sent, '', agentToken);
    expect(ofAgent.status, ofAgent.text.slice(0, 300)).to.equal(200);
    await proven(ofAgent.text);
    // Without org:read it may not read the policy.
    expect([...contentsIn(ofAgent.text).keys()]).to.have.members(['manifest', 'preview.txt', 'message.eml']);
    expect(typesIn(ofAgent.text)).to.include('DraftSent').and.not.to.include('PolicySet');
    expect(ofAgent.text).to.match(/"body_hash":"[^"]+","line":"[^\n]*PolicySet/);
    expect(ofAgent.text).not.to.contain('/meta/actor/client');
    const ofAuditor = await get(sent, '', auditor.bearer);
    await proven(ofAuditor.text);
    expect([...contentsIn(ofAuditor.text).keys()]).to.deep.equal(['policy.json']);
    expect(ofAuditor.text).not.to.contain('Hello Bob');
    const stranger = await get(sent, '', member.bearer);
    expect([stranger.status, codeOf(stranger)]).to.deep.equal([404, 'not_found']);
    expect((await get('chk_unknown')).status).to.equal(404);
    const closed = await get(sent, 'disclose=none');
    await proven(closed.text);
    expect(closed.text).not.to.match(/"opened":|Hello Bob|onerror/);
    expect([...contentsIn(closed.text).keys()]).to.deep.equal(['policy.json']);
    const all = await get(sent, 'disclose=all', auditor.bearer);
    expect(all.status).to.be.oneOf([400, 403]);
    const told = await get(sent, `disclose=all&reason=${encodeURIComponent('A dispute.')}`);
    await proven(told.text);
    expect(told.text).to.contain('/meta/actor/client');
  });

  it('says of the people in its own lines that they were erased, and of nobody else', async () => {
    const { ports } = world.gateway.gateway;
    const [voter, other] = [
      await signInNew(world.gateway, 'admin'),
      await signInNew(world.gateway, 'member', 'other@example.com'),
    ];
    const id = await sentApproval(voter);
    for (const person of [voter, other])
      expect((await person.rest('DELETE', '/users/me')).status).to.equal(202);
    await eventually(async () => {
      await ports.readModels.waitFor(await ports.events.headPosition(), 5_000);
      const { body } = await owner.rest('GET', '/audit?type=PersonalDataErased');
      expect(body.items).to.have.length(2);
    });
    const erasedIn = (text: string): readonly unknown[] =>
      recordsOf(text).flatMap(({ body }) =>
        typeof body === 'string' && body.includes('"account_erased"') ? [JSON.parse(body).data.owner_id] : [],
      );
    const { text } = await get(id, '', agentToken);
    await proven(text);
    expect(text).to.contain('"erased":[');
    expect(erasedIn(text)).to.deep.equal([voter.userId]);
    expect(erasedIn((await get(sent)).text)).to.deep.equal([]);
  });

  it('is a line of the trail, and so is that it was opened', async () => {
    const { text } = await get(sent);
    await proven(text);
    const { ports } = world.gateway.gateway;
    await ports.readModels.waitFor(await ports.events.headPosition(), 5_000);
    const { body } = await owner.rest('GET', '/audit?type=AuditExported&order=desc&limit=1');
    const [line] = body.items as Json[];
    expect(line?.data).to.include({ approval_id: sent, format: 'jsonl', mode: 'sparse' });
    const exportId = String(line?.resource.id);
    const resumed = await owner.rest('GET', `/audit/export?export_id=${exportId}`);
    expect(resumed.status).to.equal(404);
  });

  it(`is one page for people, with the same file inside and nothing active ${verifies('contract:12:evidence-page')}`, async () => {
    const { status, headers, text } = await get(sent, 'format=html');
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(headers.get('content-disposition')).to.equal(`attachment; filename="evidence-${sent}.html"`);
    expect(headers.get('content-security-policy')).to.include("default-src 'none'");
    expect(text).not.to.match(/<(?:script|img|iframe|form|link|object)\b/i);
    expect(text).to.contain('Approves exactly the content with the hash');
    expect(text).to.contain('Olga &lt;b&gt;Ott').and.to.contain('The mail server took the message.');
    const [, embedded = ''] = /<summary>The file<\/summary>[^]*?<pre>([^]*?)<\/pre>/.exec(text) ?? [];
    const file = embedded
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&');
    await proven(file);
    expect(text).to.contain(createHash('sha256').update(file).digest('hex'));
  });
});
