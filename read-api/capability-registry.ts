/** The list of capabilities, refused as a whole at the start when one of them is unsound. */
import { z } from 'zod';
import type { Capability } from '../commands/kernel/capability.ts';

const parametersOf = (path: string): readonly string[] =>
  [...path.matchAll(/:([a-z_]+)/g)].map(([, name = '']) => name);

function problemsOf(capability: Capability): readonly string[] {
  const { name, rest, tool, effect, idempotency, input, access } = capability;
  const { properties = {}, additionalProperties } = z.toJSONSchema(input, {
    io: 'input',
    unrepresentable: 'any',
  });
  const problems: string[] = [];
  if (!/^[a-z][a-z_]{1,39}$/.test(name)) problems.push('its name is not snake_case of at most 40 letters');
  if (additionalProperties !== false) problems.push('its input is not a strict object');
  for (const parameter of parametersOf(rest?.path ?? '')) {
    if (!(parameter in properties)) problems.push(`its input lacks the path parameter ${parameter}`);
  }
  if (rest?.method === 'get' && effect === 'write') problems.push('a GET must not change anything');
  if (rest === null && tool === null) problems.push('it has neither a route nor a tool');
  if (effect === 'read' && idempotency.kind !== 'none') problems.push('a read takes no idempotency key');
  if (tool && tool.hints.readOnly !== (effect === 'read'))
    problems.push('its tool hint and its effect disagree');
  if (access !== 'any-token' && access.any.length === 0) problems.push('nobody could ever call it');
  return problems.map((problem) => `${name}: ${problem}`);
}

function duplicates(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

/** The registry. Throws with every problem when a declaration is unsound or two claim one name or route. */
export function defineRegistry(capabilities: readonly Capability[]): readonly Capability[] {
  const routes = capabilities.flatMap(({ rest }) => (rest ? [`${rest.method} ${rest.path}`] : []));
  const problems = [
    ...capabilities.flatMap(problemsOf),
    ...duplicates(capabilities.map(({ name }) => name)).map((name) => `two capabilities are called ${name}`),
    ...duplicates(routes).map((route) => `two capabilities have the route ${route}`),
  ];
  if (problems.length > 0) throw new Error(`unsound registry:\n${problems.join('\n')}`);
  return Object.freeze([...capabilities]);
}
