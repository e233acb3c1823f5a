/** Evidence as a page: what it says, and that nothing in it is active. */
import { expect } from 'chai';
import { parseDocument } from 'htmlparser2';
import type { EvidenceLine } from '../../../../../read-api/approvals/evidence/evidence-facts.ts';
import { evidencePage } from '../../../../../read-api/approvals/evidence/evidence-face.ts';

const HOSTILE = '</script></pre><img src=x onerror=alert(1)><script>alert(2)</script>';
let seq = 0;
const line = (
  type: string,
  data: Readonly<Record<string, unknown>> = {},
  more: Partial<Omit<EvidenceLine, 'actor'>> & { readonly by?: string; readonly sessionId?: string } = {},
): EvidenceLine => {
  const { by = 'usr_a', sessionId = null, ...rest } = more;
  return {
    ...{ seq: (seq += 1), type, data, occurredAt: '2026-03-01T10:00:00.000Z', streamName: 'operation-opn_1' },
    actor: { type: 'person', id: by, tokenId: null, sessionId, client: null },
    texts: new Map(),
    ...rest,
  };
};
const lines: readonly EvidenceLine[] = [
  line('OperationDecided', { rule_id: HOSTILE, policy_version: 3 }),
  line('ApprovalRequested', { content_hash: 'ab12', terms: { quorum: 1 } }, { by: 'agt_1' }),
  line(
    'SessionStarted',
    {},
    { streamName: 'session-ses_1', occurredAt: '2026-03-01T10:01:00.000Z', by: 'usr_a' },
  ),
  line(
    'SessionStarted',
    {},
    { streamName: 'session-ses_2', occurredAt: '2026-03-01T10:01:30.000Z', by: 'usr_a' },
  ),
  line('BodiesRead', {}, { occurredAt: '2026-03-01T10:02:00.000Z', by: 'usr_a' }),
  line(
    'ApprovalVoteCast',
    { decision: 'approve', content_hash: 'ab12', reason: 'sealed.v2.x' },
    {
      occurredAt: '2026-03-01T10:04:00.000Z',
      sessionId: 'ses_1',
      texts: new Map([['/data/reason', HOSTILE]]),
    },
  ),
  line('DraftSent', {}, { texts: new Map([['/data/response', `250 ${HOSTILE}`]]) }),
];
const file = Buffer.from(`{"a":"${HOSTILE.replaceAll('"', '\\"')} & \\u0000"}\n{"t":"trailer"}\n`);
const page = (changes: Partial<Parameters<typeof evidencePage>[0]> = {}): string =>
  evidencePage({
    ...{ approvalId: 'chk_1', organisation: HOSTILE, lines, preview: `Subject: ${HOSTILE}`, file },
    ...{
      nameOf: (id: string) => (id === 'usr_a' ? HOSTILE : undefined),
      note: 'log\n7\nroot\n',
      createdAt: 'now',
    },
    ...changes,
  });

interface Node {
  readonly type: string;
  readonly name?: string;
  readonly attribs?: Readonly<Record<string, string>>;
  readonly data?: string;
  readonly children?: readonly Node[];
}
const parsed = (html: string): Node => parseDocument(html);
const all = (node: Node): readonly Node[] => [node, ...(node.children ?? []).flatMap(all)];
const textOf = ({ data, type, children = [] }: Node): string =>
  type === 'text' ? (data ?? '') : children.map(textOf).join('');

describe('page of evidence', () => {
  const nodes = all(parsed(page()));

  it('says that names and wording are from when it was made', () => {
    expect(page()).to.contain('Names are as they were when it was made.');
    const wording = 'The wording is from when this file was made, and need not be what the voters saw.';
    expect(page()).to.contain(`${wording}</p>\n<pre>Subject: `);
    expect(page({ preview: null })).not.to.contain(wording);
  });

  it('has nothing active, whatever names, subjects and answers say', () => {
    const names = new Set(nodes.map(({ name = '' }) => name));
    for (const active of ['script', 'img', 'iframe', 'object', 'embed', 'form', 'link', 'a', 'base', 'svg'])
      expect(names.has(active), active).to.equal(false);
    const attributes = nodes.flatMap(({ attribs = {} }) => Object.keys(attribs));
    expect(attributes.filter((name) => name.startsWith('on') || name === 'src' || name === 'href')).to.deep.equal([]);
    const policy = nodes.find(({ attribs }) => attribs?.['http-equiv'] === 'Content-Security-Policy');
    expect(policy?.attribs?.['content']).to.equal("default-src 'none'; style-src 'unsafe-inline'");
  }); // prettier-ignore

  it('holds the file, byte for byte', () => {
    const details = nodes.flatMap((node) => (node.name === 'details' ? all(node) : []));
    expect(details.filter(({ name }) => name === 'pre').map(textOf)).to.deep.equal([file.toString()]);
  });

  it('says who voted, when, what it means, and how freshly they were signed in', () => {
    const said = textOf(parsed(page())).replaceAll(/\s+/g, ' ');
    expect(said).to.contain('Approves exactly the content with the hash ab12.');
    expect(said).to.contain('2026-03-01T10:01:00.000Z, 3 minutes before');
    expect(said).to.contain('2026-03-01T10:02:00.000Z');
    expect(said).to.contain(HOSTILE);
    expect(said).to.contain('version 3 of the policy');
    expect(said).to.contain('The mail server took the message.');
    expect(said).to.contain('Take your own copy of verify-audit.mjs');
  });

  it('says what it does not show', () => {
    const bare = lines.map((one) => ({ ...one, texts: new Map<string, string>() }));
    const hidden = bare.filter(({ type }) => type !== 'SessionStarted' && type !== 'BodiesRead');
    const said = textOf(parsed(page({ lines: hidden, preview: null })));
    expect(said).to.contain('The content is not shown here.');
    expect(said).to.contain('not shown');
    expect(said.split('not in this file').length).to.equal(3);
    expect(textOf(parsed(page({ lines: [] })))).to.contain('No votes.');
  });
});
