/** A tools/call that requests a task: answered as soon as the task is stored. */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import { mayCall } from '../commands/kernel/authorize.ts';
import { callTool, inputOf, type Toolbox, type ToolCall, toolNamed } from './call-tool.ts';
import { METHOD_NOT_FOUND } from './json-rpc-answers.ts';
import type { TaskRuns } from './run-tasks.ts';
import { ownerOf } from './task-methods.ts';
import { taskPayload } from './task-payload.ts';

/**
 * The JSON text of a `CreateTaskResult`. Refusals that precede any effect of the plain call also happen here:
 * unknown tool, scope, arguments, rate. Throws `rate_limited` beyond the tasks one principal may have.
 */
export async function startTask(
  toolbox: Toolbox,
  runs: TaskRuns,
  call: ToolCall,
  ttlMs: number,
): Promise<string> {
  const tool = toolNamed(toolbox, call.name);
  const { capability } = tool;
  if (!capability.tool?.asTask) {
    throw new JSONRPCErrorException(
      `${tool.name} does not run as a task; call it plainly.`,
      METHOD_NOT_FOUND,
    );
  }
  // Refused and recorded like the plain call.
  if (!mayCall(call.caller, capability)) await callTool(toolbox, call);
  const input = inputOf(tool, call);
  call.admit({ effect: capability.effect });
  const task = await runs.start({
    owner: ownerOf(call.caller),
    tool: tool.name,
    input,
    ttlMs,
    requestId: call.requestId,
    call: (gone) => callTool(toolbox, { ...call, admit: () => undefined, gone: () => gone }),
  });
  return JSON.stringify({ task: taskPayload(task) });
}
