import { expect } from 'chai';
import { NEWEST_REVISION, revisionNamed } from '../../../mcp/protocol-revisions.ts';
import { ToolCatalogue, type ToolView } from '../../../mcp/list-tools.ts';
import { type CallerTraits, sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { sampleRegistry } from '../../support/worlds/mcp/sample-registry.ts';
import { verifies } from '../../support/suite/verifies.ts';

const catalogue = new ToolCatalogue(sampleRegistry().registry);
const view = (traits: CallerTraits = {}, advancedTools = false): ToolView => ({
  caller: sampleCaller(traits),
  advancedTools,
  revision: NEWEST_REVISION,
});
const names = (shown: ToolView): string[] =>
  (JSON.parse(catalogue.list(shown)) as { tools: { name: string }[] }).tools.map(({ name }) => name);

const ADVERTISED = ['get_identity', 'settings_toggle_advanced_tools', 'note_query', 'note_act'];

describe('tools/list', () => {
  it('returns the advertised tools in the order of the registry', () => {
    expect(names(view())).to.deep.equal(ADVERTISED);
  });

  it(`appends the granular tools when they are switched on ${verifies('contract:16:granular-listed')}`, () => {
    expect(names(view({}, true))).to.deep.equal([...ADVERTISED, 'note_copy', 'note_fail']);
  });

  it(`returns fewer tools for a token with fewer scopes ${verifies('contract:16:granular-listed', 'contract:16:narrow-token', 'contract:16:tools-list')}`, () => {
    expect(names(view({ scopes: ['messages:read'] }, true))).to.deep.equal([
      'get_identity',
      'settings_toggle_advanced_tools',
      'note_query',
      'note_fail',
    ]);
    expect(names(view({ scopes: [] }))).to.deep.equal(['get_identity', 'settings_toggle_advanced_tools']);
  });

  it('has no second page', () => {
    expect(JSON.parse(catalogue.list(view()))).to.have.all.keys('tools');
  });

  it('omits title and output schema for 2025-03-26', () => {
    const revision = revisionNamed('2025-03-26') ?? NEWEST_REVISION;
    const { tools } = JSON.parse(catalogue.list({ ...view(), revision })) as { tools: object[] };
    expect(tools).to.have.length(ADVERTISED.length);
    for (const tool of tools)
      expect(tool).to.have.all.keys('name', 'description', 'inputSchema', 'annotations');
  });

  it('finds hidden tools by name, and none for a capability without a tool', () => {
    expect(catalogue.named('note_copy')?.name).to.equal('note_copy');
    expect(catalogue.named('rest_only')).to.equal(undefined);
    expect(catalogue.named('__proto__')).to.equal(undefined);
  });
});
