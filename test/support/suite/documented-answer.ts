/** Compares answers of the REST adapter with the reviewed OpenAPI document: status, media type and body. */
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface MetAnswer {
  readonly status: number;
  /** The `Content-Type` header. */
  readonly type: string | null;
  /** The parsed JSON; null without a body. */
  readonly body: unknown;
}

type Schema = Readonly<Record<string, unknown>>;
interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly $ref?: string;
}
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >;
  readonly components: { readonly responses: Readonly<Record<string, Response>> };
}

/**
 * Answers may get more fields, so the document leaves their objects open; today's fields must be documented,
 * so they are closed here. Beside alternatives, every part sees the others' fields: those stay open.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]));
  const isClosable = typeof parts['properties'] === 'object' && parts['type'] === 'object';
  return isClosable && !('additionalProperties' in parts) ? { ...parts, additionalProperties: false } : parts;
}

export class DocumentedAnswers {
  readonly #document: Document;
  readonly #ajv: Ajv2020;
  readonly #paths: readonly (readonly [pattern: RegExp, path: string])[];
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: object) {
    this.#document = document as Document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
    addFormats.default(this.#ajv);
    const { components } = closed({ components: (document as Schema)['components'] }) as Schema;
    this.#ajv.addSchema({ $id: 'document:', components });
    // A route without parameters takes precedence over one with them, as in the router.
    this.#paths = Object.keys(this.#document.paths)
      .toSorted((a, b) => a.split('{').length - b.split('{').length)
      .map((path) => [new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`), path]);
  }

  /** The undocumented part of an answer; null if none, or without an operation. `target` omits `/api/v1`. */
  problemOf(method: string, target: string, answer: MetAnswer): string | null {
    const [bare = ''] = target.split('?');
    const [, path = ''] = this.#paths.find(([pattern]) => pattern.test(bare)) ?? [];
    const operation = this.#document.paths[path]?.[method.toLowerCase()];
    if (!operation) return null;
    const named = `${method} ${path} ${String(answer.status)}`;
    const declared = operation.responses[String(answer.status)];
    if (!declared) return `${named}: the document has no such status`;
    return this.#problemOfContent(named, this.#resolve(declared), answer);
  }

  #problemOfContent(named: string, { content }: Response, { type, body }: MetAnswer): string | null {
    if (content === undefined) return type === null ? null : `${named}: the document has no body`;
    const schema = content[type?.split(';')[0] ?? '']?.schema;
    return schema
      ? this.#problemOfBody(named, schema, body)
      : `${named}: the document has no ${String(type)}`;
  }

  #resolve(response: Response): Response {
    const name = response.$ref?.replace('#/components/responses/', '');
    return name === undefined ? response : (this.#document.components.responses[name] ?? {});
  }

  #problemOfBody(named: string, schema: Schema, body: unknown): string | null {
    const known = this.#validators.get(named);
    const validate = known ?? this.#ajv.compile(below(closed(schema)) as Schema);
    this.#validators.set(named, validate);
    if (validate(body)) return null;
    const [error] = (validate.errors ?? []).toSorted((a, b) => b.instancePath.length - a.instancePath.length);
    return `${named}: ${error?.instancePath ?? ''} ${error?.message ?? ''} ${JSON.stringify(error?.params)}`;
  }
}

/** Rewrites references within the document for use from outside. */
const below = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' ? value.replace(/^#/, 'document:#') : value,
  );

const GOLDEN = new URL('../../golden/openapi.json', import.meta.url);
let reviewed: DocumentedAnswers | null = null;

/** Throws when an answer differs from the reviewed document. */
export function expectDocumented(method: string, target: string, answer: MetAnswer): void {
  reviewed ??= new DocumentedAnswers(JSON.parse(readFileSync(GOLDEN, 'utf8')) as object);
  const problem = reviewed.problemOf(method, target, answer);
  if (problem !== null) throw new Error(`an answer is not in test/golden/openapi.json: ${problem}`);
}
