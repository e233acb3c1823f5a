/**
 * JSON Schema of a tool's arguments and answer, from a capability's zod schemas. The root is always one flat
 * object: model APIs refuse `oneOf` and similar keywords there.
 */
import { z } from 'zod';
import { Draft } from '../commands/operations/draft-shape.ts';
import { FilterSchema } from '../commands/mail/mail-filter.ts';
import { type JsonSchema, membersOf, type ObjectSchema } from './json-schema.ts';

/**
 * The schema of a tool's arguments; with `explainsFilter` false a filter is only referred to. Throws when the
 * schema is not a flat object: a defect of the capability.
 */
export function inputSchema(schema: z.ZodType, explainsFilter = true): ObjectSchema {
  const override = (context: SchemaContext): void => {
    trim(context);
    if (!explainsFilter && context.zodSchema === FilterSchema) pointToFilter(context);
  };
  const members = membersOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override }));
  const { $schema: _, ...rest } = members.rest;
  if (rest['type'] !== 'object' || 'oneOf' in rest || 'anyOf' in rest || 'allOf' in rest) {
    throw new Error('the input of a tool must be one flat object');
  }
  return { ...members, rest: { ...rest, additionalProperties: false } };
}

/**
 * The schema of an answer: the answer or the `error` object, so nothing is required at the root. Fields may
 * be added to an answer at any time, so no object is closed.
 */
export function outputSchema(schema: z.ZodType): JsonSchema {
  const open = (context: SchemaContext): void => {
    trim(context);
    delete context.jsonSchema.additionalProperties;
    if (context.zodSchema === Draft && context.zodSchema !== schema) pointToDraft(context);
  };
  const json = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any', override: open });
  const { $schema: _, ...rest } = membersOf(json).rest;
  return { ...rest, type: 'object', properties: { ...membersOf(json).properties, error: ERROR_SCHEMA } };
}

interface SchemaContext {
  readonly zodSchema: z.core.$ZodType;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** The searching tool describes a filter in full: a model needs no second text, and all are validated. */
function pointToFilter({ jsonSchema }: SchemaContext): void {
  delete jsonSchema.properties;
  delete jsonSchema.additionalProperties;
  jsonSchema.description = 'Keys and values as in the filter of email_query.';
}

/** The draft beside the outcome of an operation: the tools that return a draft describe its fields. */
function pointToDraft({ jsonSchema }: SchemaContext): void {
  delete jsonSchema.properties;
  delete jsonSchema.required;
}

/** No count or offset of mail comes near it, so a higher bound tells a model nothing. */
const FAR = 2 ** 50;

/** Longer lists come from copied ids; hand-written ones stay under any shorter bound. */
const FEW = 100;

const isEmpty = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0;

/** Removes keywords that only cost tokens: a model neither counts characters nor runs expressions. */
function trim({ jsonSchema }: SchemaContext): void {
  delete jsonSchema.minLength;
  delete jsonSchema.maxLength;
  delete jsonSchema.pattern;
  // JSON Schema's Base64 keyword is `contentEncoding` (2020-12 validation 8.3); strict validators refuse an
  // unknown format.
  if (jsonSchema.contentEncoding !== undefined) delete jsonSchema.format;
  if (Number(jsonSchema.maximum) > FAR) delete jsonSchema.maximum;
  delete jsonSchema.propertyNames;
  if (isEmpty(jsonSchema.additionalProperties)) delete jsonSchema.additionalProperties;
  if (Number(jsonSchema.minimum) <= 1) delete jsonSchema.minimum;
  delete jsonSchema.minItems;
  if (Number(jsonSchema.maxItems) <= FEW) delete jsonSchema.maxItems;
}

/** The error object of `contract.md` 13, as loose as a client may rely on. */
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
