import { expect } from 'chai';
import { verifyAudit } from '../../infra/console/verify-audit.mjs';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInNew, signInOwner } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Of the OpenAPI document. */
interface Document {
  readonly paths: Readonly<
    Record<string, { readonly get: { readonly responses: { readonly 200: { readonly headers: object } } } }>
  >;
}

type Line = Readonly<Record<string, unknown>>;

describe('an export of the audit trail', function () {
  this.timeout(120_000);
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let auditor: SignedInPerson;

  before(async () => {
    gateway = await startTestGateway();
    owner = await signInOwner(gateway);
    auditor = await signInNew(gateway, 'auditor');
    await owner.rest('PATCH', '/users/me', { name: 'Quillanne Vandersloot' });
    for (const name of ['One', 'Two', 'Three']) await owner.rest('POST', '/agents', { name });
  });
  after(async () => {
    await gateway.stop();
  });

  const get = async (
    query: string,
    person = auditor,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const authorization = `Bearer ${person.bearer}`;
    const answer = await fetch(`${gateway.baseUrl}/api/v1/audit/export?${query}`, {
      headers: { authorization, ...headers },
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const recordsOf = ({ text }: Answer): readonly Line[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  const verdict = async ({ text }: Answer): Promise<readonly [number, string | null]> => {
    const [header] = recordsOf({ text } as Answer);
    const chunks = (async function* () {
      yield await Promise.resolve(Buffer.from(text));
    })();
    const { exit, code } = await verifyAudit(chunks, { keys: header?.['keys'] as string[] });
    return [exit, code];
  };
  const codeOf = ({ text }: Answer): unknown => (JSON.parse(text) as { error: { code: string } }).error.code;
  const count = (answer: Answer, t: string): number =>
    recordsOf(answer).filter((record) => record['t'] === t).length;

  it(`is proven in each mode, and is a line of the trail itself ${verifies('contract:12:export', 'contract:17:route-audit-export')}`, async () => {
    const whole = await get('');
    expect([whole.status, whole.headers.get('content-type')]).to.deep.equal([200, 'application/x-ndjson']);
    expect(await verdict(whole)).to.deep.equal([0, null]);
    expect(whole.headers.get('audit-export-mode')).to.equal('complete');
    expect(Number(whole.headers.get('audit-lines-total'))).to.equal(count(whole, 'line'));
    const skeleton = await get('type=AgentCreated');
    expect(skeleton.headers.get('audit-export-mode')).to.equal('skeleton');
    expect(await verdict(skeleton)).to.deep.equal([0, null]);
    // With the agent of the bootstrap.
    expect(recordsOf(skeleton).filter((record) => 'body' in record)).to.have.length(4);
    const sparse = await get('resource=' + owner.userId);
    expect(sparse.headers.get('audit-export-mode')).to.equal('sparse');
    expect(await verdict(sparse)).to.deep.equal([0, null]);
    expect(Number(sparse.headers.get('audit-lines-total'))).to.equal(count(sparse, 'line'));
    const { paths } = (await (await fetch(`${gateway.baseUrl}/api/v1/openapi.json`)).json()) as Document;
    const declared = Object.keys(paths['/audit/export']?.get.responses[200].headers ?? {});
    const own = [...whole.headers.keys()].filter((name) => name.startsWith('audit-'));
    expect(own).to.have.length(4);
    expect(declared.map((name) => name.toLowerCase())).to.include.members(own);
    await eventually(async () => {
      const { body } = await auditor.rest('GET', '/audit?type=AuditExported&order=asc');
      expect(body.items.map(({ resource }: { resource: { id: string } }) => resource.id)).to.deep.equal(
        [whole, skeleton, sparse].map(({ headers }) => headers.get('audit-export-id')),
      );
      expect(body.items[1].data).to.include({ format: 'jsonl', mode: 'skeleton', disclose: 'none' });
    });
  });

  it(`is not begun by HEAD ${verifies('contract:12:export')}`, async () => {
    const recorded = async (): Promise<number> => {
      const { body } = await auditor.rest('GET', '/audit?type=AuditExported&limit=200');
      return (body.items as unknown[]).length;
    };
    const before = await recorded();
    const headers = { authorization: `Bearer ${auditor.bearer}` };
    for (const path of ['audit/export', 'approvals/apr_1/evidence']) {
      const answer = await fetch(`${gateway.baseUrl}/api/v1/${path}`, { method: 'HEAD', headers });
      expect(
        [answer.status, answer.headers.get('allow'), answer.headers.get('audit-export-id')],
        path,
      ).to.deep.equal([405, 'GET', null]);
    }
    // The line of a later export is there: an earlier one would be there, too.
    expect((await get('type=AgentCreated')).status).to.equal(200);
    await eventually(async () => {
      expect(await recorded()).to.equal(before + 1);
    });
  });

  it(`refuses a mode that cannot prove what it says ${verifies('contract:12:export-modes')}`, async () => {
    const refused = [
      'outcome=denied&mode=skeleton', 'resource=x&mode=complete', 'type=AgentCreated&mode=complete', 'mode=skeleton',
      'format=csv&mode=sparse', 'disclose=all', 'reason=because', 'actor=a%40example.com', 'export_id=aex_1&type=PolicySet',
    ]; // prettier-ignore
    for (const query of refused) {
      const answer = await get(query, owner);
      expect([answer.status, codeOf(answer)], query).to.deep.equal([400, 'invalid_request']);
    }
    expect((await get('outcome=denied&mode=skeleton')).text).to.match(/mode=sparse/);
    expect((await get('', await signInNew(gateway, 'member'))).status).to.equal(403);
  });

  it(`waits for lines that are not sealed, and then says so ${verifies('contract:12:export')}`, async () => {
    const began = performance.now();
    const answer = await get('to_seq=100000');
    expect([answer.status, codeOf(answer)]).to.deep.equal([503, 'seal_behind']);
    expect(performance.now() - began).to.be.within(2_500, 6_500);
    expect(answer.headers.get('retry-after')).not.to.equal(null);
  });

  it(`has every line between two times, and no more of the trail than they need ${verifies('contract:12:export')}`, async () => {
    const { body } = await auditor.rest('GET', '/audit?type=AgentCreated&order=asc');
    const [first, , last] = body.items as { seq: number; occurred_at: string }[];
    const answer = await get(`from=${first?.occurred_at ?? ''}&to=${last?.occurred_at ?? ''}`);
    expect(await verdict(answer)).to.deep.equal([0, null]);
    expect(recordsOf(answer)[0]).to.include({ from_seq: first?.seq, to_seq: (last?.seq ?? 0) - 1 });
    const none = await get('from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z');
    expect(await verdict(none)).to.deep.equal([0, null]);
    expect(none.headers.get('audit-lines-total')).to.equal('0');
  });

  it(`opens texts as far as its reader may see them ${verifies('contract:12:export-disclose')}`, async () => {
    const opened = (answer: Answer): readonly string[] =>
      recordsOf(answer).flatMap(({ opened: texts = [] }) =>
        (texts as { text: string }[]).map(({ text }) => text),
      );
    expect(opened(await get('type=AccountRenamed'))).to.deep.equal([]);
    const people = await get('disclose=people');
    expect(opened(people)).to.include('Quillanne Vandersloot');
    expect(await verdict(people)).to.deep.equal([0, null]);
    const refused = await get('disclose=all&reason=because');
    expect([refused.status, codeOf(refused)]).to.deep.equal([403, 'insufficient_scope']);
    const all = await get('disclose=all&reason=a+court+order', owner);
    expect(await verdict(all)).to.deep.equal([0, null]);
    await eventually(async () => {
      const { body } = await owner.rest('GET', '/audit?type=AuditDisclosed');
      expect(body.items.map(({ data }: { data: object }) => data)).to.deep.equal([
        { reason: 'a court order' },
      ]);
    });
    expect((await gateway.rest('GET', '/audit?type=AuditDisclosed')).status).to.equal(200);
  });

  it(`is the same again from any byte on, for the one who began it ${verifies('contract:12:export-resume')}`, async () => {
    const member = await signInNew(gateway, 'member', 'first@example.com');
    const whole = await get('disclose=people');
    const id = whole.headers.get('audit-export-id') ?? '';
    const etag = whole.headers.get('etag') ?? '';
    const bytes = Buffer.from(whole.text);
    await owner.rest('POST', '/agents', { name: 'Later' });
    for (const first of [0, 1, 5_000, bytes.length - 1]) {
      const rest = await get(`export_id=${id}`, auditor, {
        range: `bytes=${String(first)}-`,
        'if-range': etag,
      });
      expect([rest.status, rest.headers.get('etag')]).to.deep.equal([206, etag]);
      expect(Buffer.from(rest.text).equals(bytes.subarray(first)), String(first)).to.equal(true);
    }
    const other = await get(`export_id=${id}`, auditor, { range: 'bytes=9-', 'if-range': '"another"' });
    expect([other.status, other.text === whole.text]).to.deep.equal([200, true]);
    const beyond = await get(`export_id=${id}`, auditor, { range: `bytes=${String(bytes.length)}-` });
    expect([beyond.status, codeOf(beyond)]).to.deep.equal([416, 'range_not_satisfiable']);
    expect((await get(`export_id=${id}`, owner)).status).to.equal(404);
    expect((await get('export_id=aex_unknown')).status).to.equal(404);
    // Of somebody without a line in this trail, and of one whose lines came later.
    const later = await signInNew(gateway, 'member', 'later@example.com');
    const { personal } = gateway.gateway.ports;
    for (const elsewhere of ['usr_of_nobody', later.userId]) await personal.erase(elsewhere);
    expect((await get(`export_id=${id}`, auditor, { range: 'bytes=9-' })).status).to.equal(206);
    await personal.erase(member.userId);
    const differs = await get(`export_id=${id}`, auditor, { range: 'bytes=9-' });
    expect([differs.status, codeOf(differs)]).to.deep.equal([412, 'version_conflict']);
  });

  it(`opens nothing that another process erased just now ${verifies('contract:12:export-disclose')}`, async () => {
    const member = await signInNew(gateway, 'member');
    await member.rest('PATCH', '/users/me', { name: 'Ottoline Farewell' });
    expect((await get('disclose=people')).text).to.include('Ottoline Farewell');
    const erase = 'update vault.personal_key set wrapped = null, erased_at = now() where owner_id = $1';
    await gateway.gateway.ports.sql.query(erase, [member.userId]);
    expect((await get('disclose=people')).text).not.to.include('Ottoline Farewell');
  });

  it(`is a CSV for reading ${verifies('contract:12:csv')}`, async () => {
    const answer = await get('format=csv&type=AgentCreated&disclose=people');
    expect(answer.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    const [head = '', ...rows] = answer.text.split('\r\n');
    expect(head).to.match(/^\u{feff}?"seq","id","occurred_at","type",/u);
    expect(rows.filter((row) => row !== '').length).to.be.greaterThan(2);
    expect(answer.headers.get('audit-lines-total')).to.equal(String(rows.length - 1));
    const closed = await get('format=csv&type=AccountRenamed');
    expect(closed.text, 'sealed texts').to.match(/"\/data\/name[^"]*"/);
  });

  it(`says how many older lines its filter cannot decide, also when it goes on ${verifies('contract:12:export-older', 'contract:12:export-resume')}`, async () => {
    const { events, ids, readModels } = gateway.gateway.ports;
    const { orgId } = gateway.tokens;
    const actor = { type: 'person', id: owner.userId, token_id: null, session_id: owner.sessionId };
    // As they were stored before lines had a salt and named their mailbox.
    for (const stream of ['mailbox-mbx_old', 'mailbox-mbx_older']) {
      const metadata = {
        ...{ v: 1, org_id: orgId, actor, surface: 'rest', request_id: 'req_1', $correlationId: 'req_1' },
        ...{ $causationId: 'req_1', occurred_at: new Date().toISOString() },
      };
      await events.append(stream, 'no-stream', [
        { id: ids.newUuid(), type: 'MailboxPaused', data: {}, metadata },
      ]);
    }
    expect(await readModels.waitFor(await events.headPosition(), 20_000)).to.equal(true);
    for (const filter of ['mailbox_id=mbx_1', 'approval_id=chk_1', 'mailbox_id=mbx_1&mode=sparse']) {
      const begun = await get(filter);
      expect([begun.status, begun.headers.get('audit-lines-undecidable')], filter).to.deep.equal([200, '2']);
      const id = begun.headers.get('audit-export-id') ?? '';
      const rest = await get(`export_id=${id}`, auditor, { range: 'bytes=100-' });
      expect([rest.status, rest.headers.get('audit-lines-undecidable')], filter).to.deep.equal([206, '2']);
      const [exit, code] = await verdict(begun);
      expect([exit, code], filter).to.deep.equal(
        filter.includes('sparse') ? [0, null] : [3, 'filter_older_lines'],
      );
    }
    for (const other of ['', 'type=AgentCreated', 'format=csv&mailbox_id=mbx_1', 'mailbox_id=mbx_1&to_seq=5'])
      expect((await get(other)).headers.get('audit-lines-undecidable'), other).to.equal(null);
  });

  it('is proven while the trail grows', async () => {
    const writing = Array.from({ length: 20 }, (_, n) =>
      owner.rest('POST', '/agents', { name: `N${String(n)}` }),
    );
    const exported = await Promise.all([get(''), get('type=AgentCreated'), get('outcome=allowed')]);
    await Promise.all(writing);
    for (const answer of exported) expect(await verdict(answer)).to.deep.equal([0, null]);
    await eventually(async () => {
      expect(await verdict(await get(''))).to.deep.equal([0, null]);
    });
  });
});
