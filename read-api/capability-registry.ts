/** The list of capabilities, refused as a whole at the start when one of them is unsound. */
import { z } from 'zod';
import type { Capability } from '../commands/kernel/capability.ts';

const parametersOf = (path: string): readonly string[] =>
  [...path.matchAll(/:([a-z_]+)/g)].map(([, name = '']) => name);

type Rule = readonly [problem: string, isBroken: (capability: Capability) => boolean];

const inputOf = ({ input }: Capability) => z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });

const RULES: readonly Rule[] = [
  ['its name is not snake_case of at most 40 letters', ({ name }) => !/^[a-z][a-z_]{1,39}$/.test(name)],
  ['its input is not a strict object', (capability) => inputOf(capability).additionalProperties !== false],
  [
    'its input lacks a path parameter',
    (capability) => {
      const { properties = {} } = inputOf(capability);
      return parametersOf(capability.rest?.path ?? '').some((parameter) => !(parameter in properties));
    },
  ],
  ['a GET must not change anything', ({ rest, effect }) => rest?.method === 'get' && effect === 'write'],
  ['it has neither a route nor a tool', ({ rest, tool }) => rest === null && tool === null],
  [
    'a read takes no idempotency key',
    ({ effect, idempotency }) => effect === 'read' && idempotency.kind !== 'none',
  ],
  [
    'its tool hint and its effect disagree',
    ({ tool, effect }) => (tool?.hints.readOnly ?? effect === 'read') !== (effect === 'read'),
  ],
  ['nobody could ever call it', ({ access }) => access !== 'any-token' && access.any.length === 0],
];

const problemsOf = (capability: Capability): readonly string[] =>
  RULES.filter(([, isBroken]) => isBroken(capability)).map(([problem]) => `${capability.name}: ${problem}`);

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
