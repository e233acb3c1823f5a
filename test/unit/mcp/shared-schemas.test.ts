import { expect } from 'chai';
import { joinChoices } from '../../../mcp/merge-schema-choices.ts';
import { type JsonSchema, mapBelow } from '../../../mcp/json-schema.ts';
import { shareRepeated } from '../../../mcp/shared-schemas.ts';

const ADDRESS: JsonSchema = {
  anyOf: [{ type: 'string' }, { type: 'object', properties: { email: { type: 'string' } } }],
  description: 'An address.',
};
const list = (items: JsonSchema): JsonSchema => ({ type: 'array', maxItems: 100, items });

/** The schema before anything was shared. */
function unshared({ $defs = {}, ...root }: JsonSchema): JsonSchema {
  const definitions = $defs as Readonly<Record<string, JsonSchema>>;
  const resolved = (schema: JsonSchema): JsonSchema => {
    const name = ((schema['$ref'] as string | undefined) ?? '').replace('#/$defs/', '');
    return mapBelow(definitions[name] ?? schema, '', resolved);
  };
  return resolved(root);
}

describe('shareRepeated', () => {
  const repeating: JsonSchema = {
    type: 'object',
    properties: {
      to: list(ADDRESS),
      cc: list(ADDRESS),
      from: ADDRESS,
      patch: { type: 'object', properties: { to: { anyOf: [list(ADDRESS), { type: 'null' }] } } },
    },
  };

  it('moves repeated schemas to $defs, nested ones too, without changing their meaning', () => {
    const shared = shareRepeated(repeating);
    expect(shared['$defs']).to.have.all.keys('to', 'to_item');
    expect(shared).to.have.nested.property('properties.cc.$ref', '#/$defs/to');
    expect(shared).to.have.nested.property('$defs.to.items.$ref', '#/$defs/to_item');
    expect(unshared(shared)).to.deep.equal(repeating);
    expect(JSON.stringify(shared).length).to.be.below(JSON.stringify(repeating).length);
  });

  it('leaves schemas in place when that is shorter', () => {
    const short: JsonSchema = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
    };
    expect(shareRepeated(short)).to.deep.equal(short);
  });

  it('numbers the names when properties of one name differ', () => {
    const other = {
      type: 'string',
      description: 'Something else that is called the same and stands there twice.',
    };
    const two: JsonSchema = {
      properties: { to: ADDRESS, cc: ADDRESS, nested: { properties: { to: other, cc: other } } },
    };
    const shared = shareRepeated(two);
    expect(shared['$defs']).to.have.all.keys('to', 'to_2');
    expect(unshared(shared)).to.deep.equal(two);
  });
});

describe('joinChoices', () => {
  const choice = (type: string, more: Readonly<Record<string, JsonSchema>> = {}): JsonSchema => ({
    type: 'object',
    properties: { type: { const: type }, ...more },
    required: ['type'],
  });

  it('joins choices that differ in one constant, and keeps the others', () => {
    const folder = { folder: { type: 'string' } };
    const schema: JsonSchema = {
      properties: {
        action: {
          oneOf: [
            choice('move', folder),
            choice('trash'),
            choice('copy', folder),
            choice('flag', { on: {} }),
          ],
        },
      },
    };
    const { oneOf } =
      (joinChoices(schema)['properties'] as Record<string, { oneOf: JsonSchema[] }>)['action'] ?? {};
    expect(oneOf).to.deep.equal([
      { ...choice('move'), properties: { type: { enum: ['move', 'copy'] }, ...folder } },
      choice('trash'),
      choice('flag', { on: {} }),
    ]);
  });

  it('keeps choices without a constant or with several', () => {
    const two = { type: 'object', properties: { a: { const: 1 }, b: { const: 2 } } };
    const schema: JsonSchema = { oneOf: [two, { type: 'string' }, { type: 'null' }] };
    expect(joinChoices(schema)).to.deep.equal(schema);
  });
});
