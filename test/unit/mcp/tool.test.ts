import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { expect } from 'chai';
import { z } from 'zod';
import { toErrorBody } from '../../../commands/values/errors.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import { archiveMessages, copyMessages, setFlags } from '../../../commands/messages/act-on-messages.ts';
import { toggleAdvancedTools } from '../../../commands/accounts/toggle-advanced-tools.ts';
import { capabilities } from '../../../read-api/capabilities.ts';
import { queryEmail } from '../../../read-api/email/query-email.ts';
import { getIdentity } from '../../../read-api/identity/get-identity.ts';
import { listFolders } from '../../../read-api/messages/list-folders.ts';
import { inputSchema } from '../../../mcp/tool-schema.ts';
import { type Tool, toolOf } from '../../../mcp/tool.ts';
import { verifies } from '../../support/suite/verifies.ts';

interface Definition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: { type: string; properties: Record<string, Property>; required?: string[] };
  readonly outputSchema?: object;
  readonly annotations: Record<string, unknown>;
}
interface Property {
  readonly properties?: Record<string, Property>;
  readonly maximum?: number;
  readonly default?: unknown;
}

const registry: readonly Capability[] = [
  getIdentity, toggleAdvancedTools, queryEmail, actOnEmail, listFolders, copyMessages, archiveMessages, setFlags,
]; // prettier-ignore

function tool(capability: Capability): Tool {
  const made = toolOf(capability);
  if (!made) throw new Error(`${capability.name} is no tool`);
  return made;
}
const described = (capability: Capability): Definition =>
  JSON.parse(tool(capability).definition.described) as Definition;
const plain = (capability: Capability): Definition =>
  JSON.parse(tool(capability).definition.plain) as Definition;

/** Paths of constants without a type. Some model APIs refuse a list of tools that has one. */
function typeless(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = ('enum' in schema || 'const' in schema) && !('type' in schema) ? [path] : [];
  return [...own, ...Object.entries(schema).flatMap(([key, below]) => typeless(below, `${path}/${key}`))];
}

describe('toolOf', () => {
  it('returns null for a capability without a tool', () => {
    expect(toolOf({ ...getIdentity, tool: null })).to.equal(null);
  });

  it('describes the input as one closed object without oneOf, anyOf or allOf at its root', () => {
    for (const capability of registry) {
      const schema = described(capability).inputSchema;
      expect(schema).to.include({ type: 'object', additionalProperties: false });
      expect(Object.keys(schema)).to.not.include.members(['oneOf', 'anyOf', 'allOf', '$schema', '$ref']);
    }
  });

  it('throws when the input is not a flat object', () => {
    expect(() => inputSchema(z.union([z.strictObject({}), z.strictObject({ a: z.string() })]))).to.throw(
      /flat object/,
    );
    expect(() => inputSchema(z.string())).to.throw(/flat object/);
  });

  it(`includes all four hints ${verifies('contract:16:tool-description')}`, () => {
    for (const capability of registry) {
      expect(described(capability).annotations).to.have.all.keys(
        'readOnlyHint',
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
      );
    }
  });

  it(`includes title and output schema from 2025-06-18 on, and before that the title as an annotation ${verifies('contract:16:tool-description')}`, () => {
    expect(described(getIdentity)).to.include({ title: 'Who am I' });
    expect(described(getIdentity)).to.have.property('outputSchema');
    expect(plain(getIdentity)).to.not.have.any.keys('title', 'outputSchema');
    expect(plain(getIdentity).annotations).to.include({ title: 'Who am I' });
  });

  it('never includes execution, because there are no tasks', () => {
    for (const capability of registry) expect(described(capability)).to.not.have.property('execution');
  });

  it('places the mailbox inside the select, if there is one', () => {
    const { properties, required } = described(queryEmail).inputSchema;
    expect(properties).to.not.have.property('mailbox_id');
    expect(properties['select']?.properties).to.have.property('mailbox_id');
    expect(required).to.deep.equal(['select']);
    expect(tool(queryEmail).mailbox).to.equal('select');
  });

  it('places the mailbox at the top otherwise, as an optional field', () => {
    for (const capability of [actOnEmail, listFolders, setFlags]) {
      const { properties, required = [] } = described(capability).inputSchema;
      expect(properties).to.have.property('mailbox_id');
      expect(required).to.not.include('mailbox_id');
    }
    expect(tool(actOnEmail).mailbox).to.equal('operation');
    expect(tool(listFolders).mailbox).to.equal('argument');
    expect(tool(getIdentity).mailbox).to.equal('nowhere');
  });

  it(`sets pages of 20 by default and 100 at most ${verifies('contract:4:page-limits')}`, () => {
    const { properties } = described(queryEmail).inputSchema;
    expect(properties['select']?.properties?.['limit']).to.include({ default: 20, maximum: 100 });
    expect(described(listFolders).inputSchema.properties['limit']).to.include({ default: 20, maximum: 100 });
  });

  it('takes an idempotency_key on writes, required when every input needs one', () => {
    const keyOf = (capability: Capability): [boolean, boolean] => {
      const { properties, required = [] } = described(capability).inputSchema;
      return ['idempotency_key' in properties, required.includes('idempotency_key')];
    };
    expect(keyOf(copyMessages)).to.deep.equal([true, true]);
    expect(keyOf(actOnEmail)).to.deep.equal([true, false]);
    expect(keyOf(archiveMessages)).to.deep.equal([true, false]);
    expect(keyOf(queryEmail)).to.deep.equal([false, false]);
    expect(keyOf(toggleAdvancedTools)).to.deep.equal([false, false]);
  });

  it(`describes an output that admits the error object and fields added later ${verifies('contract:16:error-schema')}`, () => {
    const validators = new AjvJsonSchemaValidator();
    const error = { ...toErrorBody(new Error('x'), 'req_1'), retry_after_seconds: 2 };
    for (const capability of registry) {
      const { outputSchema = {} } = described(capability);
      expect(outputSchema).to.include({ type: 'object' });
      expect(outputSchema).to.not.have.any.keys('required', '$schema');
      const validate = validators.getValidator(outputSchema);
      expect(validate({ error }).errorMessage).to.equal(undefined);
      expect(validate({ added_later: 1 }).valid).to.equal(true);
      expect(validate({ error: { message: 'no code' } }).valid).to.equal(false);
    }
  });

  it('keeps the advertised tools small, titles and annotations included', () => {
    const advertised = capabilities.filter((capability) => capability.tool?.surface === 'advertised');
    const bytes = advertised.map((capability) => Buffer.byteLength(tool(capability).definition.plain));
    expect(bytes).to.have.length(6);
    expect(bytes.reduce((sum, size) => sum + size, 0) / 4).to.be.at.most(3_800);
    for (const capability of registry)
      expect(tool(capability).definition.described).to.not.contain('"pattern":"^(?:');
  });

  it(`describes input schemas that a strict validator of JSON Schema 2020-12 compiles ${verifies('contract:16:strict-schemas')}`, () => {
    const strict = new Ajv2020({ strict: true, strictTypes: false });
    addFormats.default(strict);
    for (const each of capabilities.flatMap((capability) => toolOf(capability) ?? [])) {
      const { inputSchema } = JSON.parse(each.definition.plain) as Definition;
      expect(() => strict.compile(inputSchema), each.name).not.to.throw();
      expect(typeless(inputSchema), `${each.name}: constants without a type`).to.deep.equal([]);
    }
  });

  it('describes schemas that a client of each revision can compile', () => {
    const validators = new AjvJsonSchemaValidator();
    const tools = capabilities.flatMap((capability) => toolOf(capability) ?? []);
    expect(tools).to.have.length.above(15);
    for (const { definition } of tools) {
      for (const text of Object.values(definition)) {
        const { name, inputSchema: input, outputSchema } = JSON.parse(text) as Definition;
        expect(validators.getValidator(input)({ misspelt: 1 }).valid, name).to.equal(false);
        if (outputSchema) expect(validators.getValidator(outputSchema)({}).valid, name).to.equal(true);
      }
    }
  });

  it('accepts in its schema exactly what the gateway accepts', () => {
    const validators = new AjvJsonSchemaValidator();
    const draft = {
      to: ['a@example.org', { email: 'b@example.org', name: null }],
      attachments: [{ id: 'upl_1' }],
    };
    const act = (operation: object): object => ({ operation, idempotency_key: 'k' });
    const actions = (...given: object[]): object =>
      act({ type: 'message_actions', select: { filter: { seen: true } }, actions: given });
    const rows: readonly (readonly [Capability, object, boolean])[] = [
      [actOnEmail, actions({ type: 'archive' }), true],
      [actOnEmail, actions({ type: 'copy', folder: 'inbox' }), true],
      [actOnEmail, actions({ type: 'copy' }), false],
      [actOnEmail, actions({ type: 'archive', folder: 'inbox' }), false],
      [actOnEmail, actions({ type: 'burn' }), false],
      [actOnEmail, act({ type: 'draft_create', draft }), true],
      [actOnEmail, act({ type: 'draft_create', draft: { to: [{ name: 'nobody' }] } }), false],
      [actOnEmail, act({ type: 'draft_create', draft: { to: null } }), false],
      [actOnEmail, act({ type: 'draft_edit', draft_id: 'drf_1', patch: { to: null, cc: draft.to } }), true],
      [actOnEmail, act({ type: 'draft_edit', draft_id: 'drf_1', patch: { colour: 'red' } }), false],
      [actOnEmail, act({ type: 'draft_discard', draft_id: 'drf_1', expected_version: 2 }), true],
      [actOnEmail, act({ type: 'draft_send' }), false],
      [
        queryEmail,
        { select: { filter: { any: [{ seen: true }], sent_after: '2026-01-31T00:00:00Z' } } },
        true,
      ],
      [queryEmail, { select: { filter: { sent_after: 5 } } }, false],
      [queryEmail, { select: { filter: { sean: true } } }, false],
    ];
    for (const [capability, args, isGood] of rows) {
      const validate = validators.getValidator(described(capability).inputSchema);
      expect(validate(args).valid, JSON.stringify(args)).to.equal(isGood);
      const { idempotency_key: _, ...input } = { idempotency_key: '', ...args };
      const taken = capability.input.safeParse({ mailbox_id: 'mbx_1', ...input });
      expect(taken.success, JSON.stringify(args)).to.equal(isGood);
    }
  });
});
