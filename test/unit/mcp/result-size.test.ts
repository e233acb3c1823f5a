import { expect } from 'chai';
import { invokeWithin } from '../../../mcp/result-size.ts';
import { type Tool, toolOf } from '../../../mcp/tool.ts';
import { NEWEST_REVISION } from '../../../mcp/protocol-revisions.ts';
import { ToolCatalogue } from '../../../mcp/list-tools.ts';
import { callTool } from '../../../mcp/call-tool.ts';
import { sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { samplePorts } from '../../support/worlds/mcp/sample-ports.ts';
import { type SampleNote, sampleRegistry } from '../../support/worlds/mcp/sample-registry.ts';
import { verifies } from '../../support/suite/verifies.ts';

const MAX = 4_096;

interface Page {
  readonly items: { id: string; body: { content: string; truncated: boolean; next_offset: number | null } }[];
  readonly page: { next_cursor: string | null; limit: number };
  readonly shortened?: unknown;
}

function stage(notes: readonly SampleNote[]) {
  const sample = sampleRegistry();
  sample.notes.push(...notes);
  const { ports, logged } = samplePorts();
  Object.assign(ports.server.limits, { mcpResultBytes: MAX });
  const toolbox = { catalogue: new ToolCatalogue(sample.registry), registry: sample.registry, ports };
  const call = async (name: string, args: Record<string, unknown>): Promise<unknown> => {
    const { result } = await callTool(toolbox, {
      name,
      args,
      caller: sampleCaller(),
      client: null,
      requestId: 'req_1',
      sessionId: null,
      ifPosition: null,
      admit: () => undefined,
      gone: () => new AbortController().signal,
      revision: NEWEST_REVISION,
      resultMeta: {},
    });
    const { structuredContent } = JSON.parse(result) as { structuredContent: unknown };
    return structuredContent;
  };
  return { ...sample, logged, call };
}

const text = (id: string, length: number, unit = 'x'): SampleNote => ({ id, text: unit.repeat(length) });
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describe('size of a tool result', () => {
  it('leaves a small answer unchanged', async () => {
    const { call, seen } = stage([text('a', 10), text('b', 10)]);
    expect(((await call('note_query', { select: {} })) as Page).items).to.have.length(2);
    expect(seen).to.have.length(1);
  });

  it(`is kept by fewer whole items, and the cursor misses and repeats none ${verifies('contract:15:mcp-result')}`, async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `n${String(index)}`);
    const { call } = stage(ids.map((id, index) => text(id, 100 + index * 20)));
    const got: string[] = [];
    let cursor: string | null = '0';
    for (let pages = 0; cursor !== null && pages < 40; pages += 1) {
      const page = (await call('note_query', { select: { limit: 20, cursor } })) as Page;
      expect(bytesOf(page)).to.be.at.most(MAX);
      expect(page.items.every(({ body }) => !body.truncated)).to.equal(true);
      got.push(...page.items.map(({ id }) => id));
      cursor = page.page.next_cursor;
    }
    expect(got).to.deep.equal(ids);
  });

  it(`is kept by a shorter body when one item is too long, whatever its encoding ${verifies('contract:15:mcp-result')}`, async () => {
    for (const unit of ['x', '"', 'é', '\u0001', '😀']) {
      const { call } = stage([text('a', 20_000, unit), text('b', 20_000, unit)]);
      const page = (await call('note_query', { select: {} })) as Page;
      expect(bytesOf(page)).to.be.at.most(MAX);
      expect(page.items.map(({ id }) => id)).to.deep.equal(['a']);
      expect(page.page.next_cursor).to.equal('1');
      const body = page.items[0]?.body;
      expect(body?.truncated).to.equal(true);
      expect(body?.next_offset).to.equal(body?.content.length);
      expect(bytesOf(page)).to.be.above(MAX / 2);
    }
  });

  it('is kept by cutting messages named by id, and says so', async () => {
    const { call } = stage([text('a', 1_500), text('b', 1_500), text('c', 1_500)]);
    const page = (await call('note_query', { select: { message_ids: ['a', 'b', 'c'] } })) as Page;
    expect(page.items.map(({ id }) => id)).to.deep.equal(['a', 'b']);
    expect(page.shortened).to.deep.equal({ items: { kept: 2, total: 3 } });
    expect(bytesOf(page)).to.be.at.most(MAX);
  });

  it('is kept by cutting the answer of a write, which runs once', async () => {
    const { call, seen } = stage([]);
    const ids = Array.from({ length: 200 }, (_, index) => `message-${String(index)}`);
    const reply = (await call('note_act', {
      operation: { type: 'note_actions', select: { message_ids: ids } },
      idempotency_key: 'k',
    })) as { results: { message_id: string }[]; shortened: { results: { kept: number; total: number } } };
    expect(seen).to.have.length(1);
    expect(bytesOf(reply))
      .to.be.at.most(MAX)
      .and.above(MAX - 100);
    expect(reply.shortened.results).to.deep.equal({ kept: reply.results.length, total: 200 });
    expect(reply.results.map(({ message_id }) => message_id)).to.deep.equal(
      ids.slice(0, reply.results.length),
    );
  });

  it('is exceeded when several attempts fail, and the answer stays whole', async () => {
    const [capability] = sampleRegistry().registry.filter(({ name }) => name === 'note_query');
    const tool: Tool | null = capability ? toolOf(capability) : null;
    if (!tool) throw new Error('no note_query');
    let calls = 0;
    const stubborn = { items: [text('a', MAX), text('b', MAX)], page: { next_cursor: 'more', limit: 2 } };
    const sized = await invokeWithin(tool, { select: {} }, MAX, () => {
      calls += 1;
      return Promise.resolve({ output: stubborn });
    });
    expect(calls).to.equal(5);
    expect(sized.fits).to.equal(false);
    expect(JSON.parse(sized.json)).to.deep.equal(stubborn);
  });
});
