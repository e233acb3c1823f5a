/** The list of capabilities. At startup the whole list is refused when one of them is unsound. */
import { z } from 'zod';
import type { Capability } from '../commands/kernel/capability.ts';

const parametersOf = (path: string): readonly string[] =>
  [...path.matchAll(/:([a-z_]+)/g)].map(([, name = '']) => name);

type Rule = readonly [problem: string, isBroken: (capability: Capability) => boolean];

const inputOf = ({ input }: Capability) => z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });

const takesIfMatchInVain = ({ ifMatch, effect, rest }: Capability): boolean =>
  ifMatch === true && (effect === 'read' || rest === null);

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
  [
    'its bodyField is no field of its input, or its method takes no body',
    (capability) => {
      const { bodyField, bodyBytes = bodyField, method } = capability.rest ?? {};
      if (bodyBytes === undefined) return false;
      return (
        method === 'get' || method === 'delete' || !(bodyBytes in (inputOf(capability).properties ?? {}))
      );
    },
  ],
  [
    'only a DELETE has its fields in a body because it says so',
    ({ rest }) => rest?.deleteBody === true && rest.method !== 'delete',
  ],
  ['only a 201 has a location', ({ rest }) => rest?.location !== undefined && rest.status !== 201],
  [
    'a tool needs a title and a description for the model that chooses it',
    ({ tool, title, description }) => tool !== null && (title.trim() === '' || description.trim() === ''),
  ],
  ['a GET must not change anything', ({ rest, effect }) => rest?.method === 'get' && effect === 'write'],
  ['only a write with a route takes If-Match', takesIfMatchInVain],
  ['it has neither a route nor a tool', ({ rest, tool }) => rest === null && tool === null],
  [
    'a read takes no idempotency key',
    ({ effect, idempotency }) => effect === 'read' && idempotency.kind !== 'none',
  ],
  [
    'its tool hint and its effect disagree',
    ({ tool, effect }) => (tool?.hints.readOnly ?? effect === 'read') !== (effect === 'read'),
  ],
  ['no caller could ever use it', ({ access }) => typeof access !== 'string' && access.any.length === 0],
];

const problemsOf = (capability: Capability): readonly string[] =>
  RULES.filter(([, isBroken]) => isBroken(capability)).map(([problem]) => `${capability.name}: ${problem}`);

function duplicates(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

const PARAMETER = ':…';

const takes = (earlier: string, later: string): boolean => {
  const [own, others] = [earlier.split('/'), later.split('/')];
  return (
    own.length === others.length &&
    own.every((segment, index) => segment === PARAMETER || segment === others[index])
  );
};

/** Routes are tried in order: `/x/:id` before `/x/all` would shadow it. */
const hidden = (shapes: readonly string[]): readonly string[] =>
  shapes.filter((shape, index) =>
    shapes.slice(0, index).some((earlier) => earlier !== shape && takes(earlier, shape)),
  );

/** The registry. Throws with every problem when a declaration is unsound or two claim one name or route. */
export function defineRegistry(capabilities: readonly Capability[]): readonly Capability[] {
  const routes = capabilities.flatMap(({ rest }) => (rest ? [`${rest.method} ${rest.path}`] : []));
  // The router matches the same requests whatever a parameter is called.
  const shapes = routes.map((route) => route.replaceAll(/:[a-z_]+/g, PARAMETER));
  const problems = [
    ...capabilities.flatMap(problemsOf),
    ...duplicates(capabilities.map(({ name }) => name)).map((name) => `two capabilities are called ${name}`),
    ...duplicates(shapes).map((route) => `two capabilities have the route ${route}`),
    ...hidden(shapes).map((route) => `an earlier route takes every request for ${route}`),
  ];
  if (problems.length > 0) throw new Error(`unsound registry:\n${problems.join('\n')}`);
  return Object.freeze([...capabilities]);
}

/** The kind a request is counted as: some writes have inputs that only read (`contract.md` 15). */
export type Effect = Capability['effect'];

/** The least effect of every request, known before its input is. */
export const leastEffectOf = ({ effect, onlyReads }: Pick<Capability, 'effect' | 'onlyReads'>): Effect =>
  onlyReads ? 'read' : effect;

/** The effect of one raw input; an input that breaks the schema counts as a write, like the rest. */
export function effectOf(
  { effect, onlyReads, input: schema }: Pick<Capability, 'effect' | 'onlyReads' | 'input'>,
  input: unknown,
): Effect {
  if (!onlyReads) return effect;
  const parsed = schema.safeParse(input);
  return parsed.success && onlyReads(parsed.data) ? 'read' : 'write';
}

/** `conditional`: the input decides whether one is required. */
export type KeyRule = 'none' | 'optional' | 'conditional' | 'required';

/** A rule that ignores its input holds for every input: then the schema itself can require the key. */
export function keyRuleOf({ effect, idempotency }: Pick<Capability, 'effect' | 'idempotency'>): KeyRule {
  if (effect === 'read' || idempotency.kind === 'none') return 'none';
  if (idempotency.kind === 'claim') return idempotency.required ? 'required' : 'optional';
  if (idempotency.required.length > 0) return 'conditional';
  return idempotency.required(undefined) ? 'required' : 'optional';
}
