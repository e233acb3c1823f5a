import { expect } from 'chai';
import { invokeCapability, type Invocation } from '../../../../commands/kernel/invoke-capability.ts';
import { toggleAdvancedTools } from '../../../../commands/accounts/toggle-advanced-tools.ts';
import { type CallerTraits, sampleCaller } from '../../../support/worlds/mcp/sample-caller.ts';
import { samplePorts } from '../../../support/worlds/mcp/sample-ports.ts';
import { sampleRegistry } from '../../../support/worlds/mcp/sample-registry.ts';

const SESSION = {
  id: 's',
  tokenId: 'tok_1',
  orgId: 'org_1',
  principalId: 'agt_1',
  revision: 'r',
  advancedTools: false,
};

function stage(traits: CallerTraits = {}) {
  const { ports, sessions } = samplePorts();
  sessions.rows.set(SESSION.id, SESSION);
  const toggle = async (enabled: boolean, mcpSessionId: string | null = SESSION.id): Promise<unknown> => {
    const invocation: Invocation = {
      capability: toggleAdvancedTools,
      input: { enabled },
      caller: sampleCaller(traits),
      client: null,
      registry: sampleRegistry().registry,
      ports,
      request: {
        id: 'req_1',
        surface: 'mcp',
        idempotencyKey: null,
        ifMatch: null,
        ifPosition: null,
        mcpSessionId,
      },
    };
    return (await invokeCapability(invocation)).output;
  };
  return { sessions, toggle };
}

describe('settings_toggle_advanced_tools', () => {
  it('keeps the setting in the session and lists the granular tools in scope', async () => {
    const { sessions, toggle } = stage();
    expect(await toggle(true)).to.deep.equal({ enabled: true, tools: ['note_copy', 'note_fail'] });
    expect(sessions.rows.get('s')?.advancedTools).to.equal(true);
    expect(await toggle(false)).to.deep.equal({ enabled: false, tools: ['note_copy', 'note_fail'] });
    expect(sessions.rows.get('s')?.advancedTools).to.equal(false);
  });

  it('lists no tools that the token may not call', async () => {
    expect(await stage({ scopes: [] }).toggle(true)).to.deep.equal({ enabled: true, tools: ['note_fail'] });
  });

  it('is refused when there is no MCP session', async () => {
    const refused = await stage()
      .toggle(true, null)
      .catch((error: unknown) => error);
    expect(refused).to.have.property('code', 'invalid_request');
  });
});
