/**
 * JSON Schema of a tool's arguments and answer, from a capability's zod schemas. The root is always one flat object:
 * model APIs refuse `oneOf` and its like there.
 */
import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ObjectSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  /** Keywords beside these, such as `description`. */
  readonly rest: JsonSchema;
}

/** The members of an object schema; anything else has none. */
export function membersOf(schema: JsonSchema | undefined): ObjectSchema {
  const { properties = {}, required = [], ...rest } = schema ?? {};
  return { properties: properties as Record<string, JsonSchema>, required: required as string[], rest };
}

/** Puts members back together, `required` only where it names something. */
export const objectSchema = ({ properties, required, rest }: ObjectSchema): JsonSchema => ({
  ...rest,
  properties,
  ...(required.length === 0 ? {} : { required }),
});

/** What a caller may send. Throws when the schema is not a flat object: a defect of the capability. */
export function inputSchema(schema: z.ZodType): ObjectSchema {
  const members = membersOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: trim }));
  const { $schema: _, ...rest } = members.rest;
  if (rest['type'] !== 'object' || 'oneOf' in rest || 'anyOf' in rest || 'allOf' in rest) {
    throw new Error('the input of a tool must be one flat object');
  }
  return { ...members, rest: { ...rest, additionalProperties: false } };
}

/**
 * What a caller may get: the answer or the `error` object, so nothing is required at the root. Fields may be added to
 * an answer at any time, so no object is closed.
 */
export function outputSchema(schema: z.ZodType): JsonSchema {
  const open = (context: SchemaContext): void => {
    trim(context);
    delete context.jsonSchema.additionalProperties;
  };
  const json = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any', override: open });
  const { $schema: _, ...rest } = membersOf(json).rest;
  return { ...rest, type: 'object', properties: { ...membersOf(json).properties, error: ERROR_SCHEMA } };
}

interface SchemaContext {
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** Leaves out what costs a model tokens and tells it nothing: it neither counts characters nor runs expressions. */
function trim({ jsonSchema }: SchemaContext): void {
  delete jsonSchema.minLength;
  delete jsonSchema.maxLength;
  delete jsonSchema.pattern;
  delete jsonSchema.contentEncoding;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  delete jsonSchema.propertyNames;
}

/** The error object of `interface.md` 7, as loose as a client may rely on it. */
const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'Present only when isError is true; branch on code.',
  properties: {
    code: { type: 'string' },
    status: { type: 'integer' },
    message: { type: 'string' },
    request_id: { type: 'string' },
    retryable: { type: 'boolean' },
    retry_after_seconds: { type: 'number' },
    details: { type: 'object' },
  },
  required: ['code', 'message'],
};
