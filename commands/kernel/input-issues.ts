/** Invalid input in sentences for people: the only mapping of zod's issues, for every adapter and document. */
import type { z } from 'zod';

/** Where and how input breaks its schema, without the value that was sent. */
export interface InputIssue {
  /** Names and positions, separated by dots. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

type OfCode<Code> = Extract<z.core.$ZodRawIssue, { readonly code: Code }>;

type Read<T> = { readonly data: T; readonly issues: null } | { readonly issues: readonly InputIssue[] };

/** The parsed input, or its issues. */
export function readInput<T>(schema: z.ZodType<T>, input: unknown): Read<T> {
  const parsed = schema.safeParse(input, { error: sentenceOf });
  if (parsed.success) return { data: parsed.data, issues: null };
  return { issues: parsed.error.issues.flatMap((issue) => describeIssue(issue)) };
}

/** One issue per unknown field; for a union the issues of the alternative that was meant. */
function describeIssue(issue: z.core.$ZodIssue, above: readonly PropertyKey[] = []): readonly InputIssue[] {
  const path = [...above, ...issue.path];
  const at = (names: readonly PropertyKey[]): string => names.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: at([...path, key]),
      code: 'unrecognized_key',
      message: issue.message,
    }));
  }
  if (issue.code === 'invalid_union') {
    const meant = meantOf(issue.errors);
    if (meant !== null) return meant.flatMap((inner) => describeIssue(inner, path));
  }
  return [{ path: at(path), code: issue.code, message: issue.message }];
}

/**
 * The alternative nearest to the input; null where none or several are nearest: then the issue is that of the union. An
 * unknown field counts more than a missing one.
 */
function meantOf(alternatives: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | null {
  const ofItsForm = alternatives.filter((issues) => !issues.some(isOfAnotherForm));
  const weight = (issues: readonly z.core.$ZodIssue[]): number =>
    issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? 2 * issue.keys.length : 1), 0);
  const [nearest, next] = ofItsForm.toSorted((a, b) => weight(a) - weight(b));
  return nearest === undefined || (next && weight(next) === weight(nearest)) ? null : nearest;
}

const isOfAnotherForm = ({ code, path }: z.core.$ZodIssue): boolean =>
  path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');

/** The sentence of an issue, to be read after its path; undefined = zod's own. A message in the schema has precedence. */
export function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && MISSING.has(issue.code)) return 'is missing';
  const sentence = SENTENCES[issue.code] as ((of: z.core.$ZodRawIssue) => string) | undefined;
  return sentence?.(issue);
}

const MISSING: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union']);

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be RFC 3339 with a zone, e.g. 2026-01-31T12:00:00Z',
  date: 'must be a date, e.g. 2026-01-31',
  email: 'must be an e-mail address',
  url: 'must be a URL',
  base64: 'must be Base64',
};

const MOST_NAMED = 40;

const listOf = (names: readonly string[]): string =>
  `${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ', …' : ''}`;

const oneOf = (values: readonly string[]): string =>
  values.length === 1 ? `must be ${values.join('')}` : `must be one of ${listOf(values)}`;

type Bound = number | bigint;

interface Bounds {
  readonly least?: Bound | undefined;
  readonly most?: Bound | undefined;
}

/** The subject of a zod check, by the name of the check. */
const BOUNDS: Readonly<Record<string, (def: Readonly<Record<string, Bound>>) => Bounds>> = {
  greater_than: ({ value }) => ({ least: value }),
  less_than: ({ value }) => ({ most: value }),
  min_length: ({ minimum }) => ({ least: minimum }),
  max_length: ({ maximum }) => ({ most: maximum }),
  length_equals: ({ length }) => ({ least: length, most: length }),
};

/** All bounds of the schema of this one. */
function boundsOf(issue: OfCode<'too_small'> | OfCode<'too_big'>): Bounds {
  const { checks = [] } = (issue as { schema?: z.core.$ZodType }).schema?._zod.def ?? {};
  const broken = issue.code === 'too_small' ? { least: issue.minimum } : { most: issue.maximum };
  const all = checks.map(({ _zod: { def } }) => BOUNDS[def.check]?.(def as never) ?? {});
  return Object.assign({}, ...all, broken) as Bounds;
}

function sizeOf(issue: OfCode<'too_small'> | OfCode<'too_big'>): string {
  const { least, most } = boundsOf(issue);
  const unit = UNITS[issue.origin];
  if (issue.inclusive === false)
    return issue.code === 'too_small'
      ? `must be more than ${String(least)}`
      : `must be less than ${String(most)}`;
  if (unit === undefined) return `must be ${between(least, most)}`;
  if (issue.code === 'too_small' && Number(least) === 1) return 'must not be empty';
  return `must have ${between(least, most)} ${unit}`;
}

const UNITS: Readonly<Record<string, string>> = {
  string: 'characters',
  array: 'items',
  set: 'items',
  record: 'fields',
};

function between(least: Bound | undefined, most: Bound | undefined): string {
  if (least === undefined) return `at most ${String(most)}`;
  if (most === undefined) return `at least ${String(least)}`;
  return least === most ? `exactly ${String(least)}` : `${String(least)} to ${String(most)}`;
}

function unknownField({ inst }: OfCode<'unrecognized_keys'>): string {
  const { shape } = (inst as { _zod?: { def: { shape?: object } } } | undefined)?._zod?.def ?? {};
  const known = Object.keys(shape ?? {});
  const hint = known.length === 0 ? '' : ` Known are: ${listOf(known)}.`;
  return `is not known here; remove it or correct its spelling.${hint}`;
}

function unionOf(issue: OfCode<'invalid_union'>): string {
  const { options } = issue as { options?: readonly unknown[] };
  if (options !== undefined) return oneOf(options.map(String));
  // Worded like the alternatives: "must be text or a list".
  const forms = issue.errors.flatMap((inner) => inner.filter(isOfAnotherForm)).map(({ message }) => message);
  const said = [...new Set(forms)].map((form) => form.replace(/^must be /, ''));
  return said.length === 0 ? 'has none of the accepted forms' : `must be ${said.join(' or ')}`;
}

type Sentences = { readonly [Code in z.core.$ZodIssueCode]?: (issue: OfCode<Code>) => string };

const SENTENCES: Sentences = {
  invalid_type: ({ expected }) => `must be ${TYPES[expected] ?? expected}`,
  too_small: sizeOf,
  too_big: sizeOf,
  invalid_format: ({ format, prefix }) =>
    typeof prefix === 'string'
      ? `must begin with ${prefix}`
      : (FORMATS[format] ?? 'does not have the expected form'),
  not_multiple_of: ({ divisor }) => `must be a multiple of ${String(divisor)}`,
  invalid_value: ({ values }) => oneOf(values.map(String)),
  unrecognized_keys: unknownField,
  invalid_union: unionOf,
  custom: () => 'is not accepted',
  invalid_key: () => 'is a name that is not accepted here',
};
