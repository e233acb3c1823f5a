/** settings_toggle_advanced_tools: shows or hides the single-purpose tools in the tool list of one MCP session. */
import { z } from 'zod';
import { mayCall } from '../kernel/authorize.ts';
import { defineCapability } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';

const Input = z.strictObject({
  enabled: z.boolean().describe('true lists them, false hides them.'),
});
type Input = z.output<typeof Input>;

const Output = z.object({
  enabled: z.boolean(),
  tools: z
    .array(z.string())
    .describe('Names of the single-purpose tools this token may call: now listed, or now hidden.'),
});
type Output = z.output<typeof Output>;

export const toggleAdvancedTools = defineCapability<Input, Output>({
  name: 'settings_toggle_advanced_tools',
  title: 'Show or hide advanced tools',
  summary: 'Show or hide the single-purpose tools of this session.',
  description:
    "Show or hide the single-purpose tools in this session's list. Not needed: those always listed do all of it. Returns " +
    'their names.',
  effect: 'write',
  access: 'any-token',
  rest: null,
  tool: {
    surface: 'advertised',
    hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  },
  idempotency: { kind: 'none' },
  input: Input,
  output: Output,
  /** The switch is in the store before this answers: the client may list tools on another replica at once. */
  handle: async ({ enabled }, { caller, ports, request, registry }) => {
    if (request.mcpSessionId === null) {
      throw new GatewayError('invalid_request', 'Tools are listed per MCP session; call this in one.');
    }
    await ports.sessions.setAdvancedTools(request.mcpSessionId, enabled);
    const tools = registry
      .filter((capability) => capability.tool?.surface === 'granular' && mayCall(caller, capability))
      .map(({ name }) => name);
    return { enabled, tools };
  },
});
