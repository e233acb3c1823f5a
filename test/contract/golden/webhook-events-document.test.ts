import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { z } from 'zod';
import { webhookKinds } from '../../../commands/webhook-catalogue.ts';
import { verifies } from '../../support/suite/verifies.ts';

const FILE = 'docs/webhook-events.md';

interface Field {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Field;
  readonly anyOf?: readonly Field[];
  readonly properties?: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
}

const fieldsOf = (schema: z.ZodType): Field => z.toJSONSchema(schema, { io: 'output' }) as Field;

/** The type of a field in words. */
function wordsOf({ type, format, const: only, enum: values, items, anyOf, properties }: Field): string {
  if (anyOf) return anyOf.map(wordsOf).join(' or ');
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (values) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (items) return `list of ${wordsOf(items)}`;
  if (properties)
    return `object of ${Object.keys(properties)
      .map((name) => `\`${name}\``)
      .join(', ')}`;
  if (format === 'date-time') return 'time';
  return [type].flat().join(' or ');
}

const meaningOf = ({ description, anyOf = [] }: Field): string =>
  description ?? anyOf.map(meaningOf).find((meaning) => meaning !== '') ?? '';

function table(schema: Field): readonly string[] {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const always = schema.required?.includes(name) ? '' : ', not always';
    return `| \`${name}\` | ${wordsOf(field)}${always} | ${meaningOf(field)} |`;
  });
  return rows.length === 0 ? [] : ['', '| Field | Type | Meaning |', '|---|---|---|', ...rows];
}

/** The document as the mappings beside the events tell it. */
function eventsDocument(): string {
  const sections = webhookKinds.flatMap(({ type, when, data }) => [
    `## ${type}`,
    '',
    when,
    ...table(fieldsOf(data)),
    '',
  ]);
  return [
    '# Webhook events',
    '',
    'What a webhook endpoint can subscribe to, and the `data` of each payload `{type, timestamp, data, sequence}`. The JSON Schemas are',
    'under `webhooks` in the OpenAPI document, `GET /api/v1/openapi.json`.',
    '',
    'When the person behind an endpoint may not see an event at the time of an attempt, the payload is `{type, sequence, withheld: true}`.',
    '',
    ...sections,
  ].join('\n');
}

describe('docs/webhook-events.md', () => {
  it(`says what the events are told as ${verifies('contract:11:event-types')}`, async () => {
    if (process.env['GOLDEN'] === '1') await writeFile(FILE, eventsDocument());
    expect(await readFile(FILE, 'utf8')).to.equal(eventsDocument());
  });
});
