/** A capability as a tool: its definition, and its arguments where they differ from the REST route's. */
import type { Capability, ToolHints } from '../commands/kernel/capability.ts';
import { type KeyRule, keyRuleOf } from '../read-api/capability-registry.ts';
import { joinChoices } from './merge-schema-choices.ts';
import { type JsonSchema, membersOf, type ObjectSchema, objectSchema } from './json-schema.ts';
import { shareRepeated } from './shared-schemas.ts';
import { inputSchema, outputSchema } from './tool-schema.ts';

/** Where a tool names its mailbox (`contract.md` 17): in its select if it has one, else at the top. */
export type MailboxPlace = 'nowhere' | 'argument' | 'select' | 'select-if-given' | 'operation';

export interface Tool {
  readonly name: string;
  readonly advertised: boolean;
  readonly capability: Capability;
  readonly mailbox: MailboxPlace;
  /** Where the page size is, if there are pages. */
  readonly limit: 'nowhere' | 'argument' | 'select';
  /** True when the length of bodies can be requested (`max_body_chars`). */
  readonly bodies: boolean;
  readonly key: KeyRule;
  /** The entry of `tools/list` as JSON text, for each kind of revision. */
  readonly definition: {
    /** Without title and output schema. */
    readonly plain: string;
    readonly described: string;
    /** With the support for tasks. */
    readonly asTask: string;
  };
}

/** The tool whose schema describes a filter in full. */
const FILTER_EXPLAINED_BY = 'email_query';
/** Page sizes on MCP (`contract.md` 4). */
const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

/** The tool of a capability, or null when it has none. Costs a schema conversion: call it once. */
export function toolOf(capability: Capability): Tool | null {
  if (capability.tool === null) return null;
  const input = inputSchema(capability.input, capability.name === FILTER_EXPLAINED_BY);
  const select = membersOf(input.properties['select']).properties;
  const shape = {
    mailbox: mailboxPlace(input),
    limit: 'limit' in select ? 'select' : 'limit' in input.properties ? 'argument' : 'nowhere',
    bodies: 'max_body_chars' in input.properties,
    key: keyRuleOf(capability),
  } as const;
  return {
    name: capability.name,
    advertised: capability.tool.surface === 'advertised',
    capability,
    ...shape,
    definition: define(
      capability,
      capability.tool.hints,
      shareRepeated(joinChoices(argumentsSchema(input, shape))),
    ),
  };
}

function mailboxPlace({ properties, required }: ObjectSchema): MailboxPlace {
  if (!required.includes('mailbox_id')) return 'nowhere';
  if ('select' in properties) return required.includes('select') ? 'select' : 'select-if-given';
  return 'operation' in properties ? 'operation' : 'argument';
}

const MAILBOX: JsonSchema = {
  type: 'string',
  description: 'Optional when there is one.',
};
const KEY = {
  optional: 'New for each change; the same one only to retry the call.',
  conditional: 'Required for every change. New for each; the same one only to retry.',
  required: 'New for each change; the same one only to retry the call.',
};

/** The input schema as an MCP caller sees it. */
function argumentsSchema(input: ObjectSchema, shape: Pick<Tool, 'mailbox' | 'limit' | 'key'>): JsonSchema {
  const properties: Record<string, JsonSchema> = { ...input.properties };
  let required = input.required;
  if (shape.mailbox !== 'nowhere') {
    required = required.filter((name) => name !== 'mailbox_id');
    properties['mailbox_id'] = MAILBOX;
  }
  if (shape.mailbox === 'select') delete properties['mailbox_id'];
  if (shape.mailbox === 'select' || shape.mailbox === 'select-if-given') {
    properties['select'] = withMember(properties['select'], 'mailbox_id', MAILBOX);
  }
  if (shape.limit === 'argument') properties['limit'] = pageSize(properties['limit']);
  if (shape.limit === 'select') {
    const { limit } = membersOf(properties['select']).properties;
    properties['select'] = withMember(properties['select'], 'limit', pageSize(limit));
  }
  if (shape.key !== 'none') {
    properties['idempotency_key'] = { type: 'string', description: KEY[shape.key] };
    if (shape.key === 'required') required = [...required, 'idempotency_key'];
  }
  return objectSchema({ ...input, properties, required });
}

const withMember = (schema: JsonSchema | undefined, name: string, member: JsonSchema): JsonSchema => {
  const members = membersOf(schema);
  return objectSchema({ ...members, properties: { ...members.properties, [name]: member } });
};

const pageSize = ({ description: _, ...limit }: JsonSchema = {}): JsonSchema => ({
  ...limit,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
});

/** Absent hints default to the worst (MCP `ToolAnnotations`), so all four are always written. */
function define(capability: Capability, hints: ToolHints, schema: JsonSchema): Tool['definition'] {
  const { name, title, description } = capability;
  const annotations = {
    readOnlyHint: hints.readOnly,
    destructiveHint: hints.destructive,
    idempotentHint: hints.idempotent,
    openWorldHint: hints.openWorld,
  };
  const described = {
    name,
    title,
    description,
    inputSchema: schema,
    outputSchema: shareRepeated(outputSchema(capability.output)),
    annotations,
  };
  // Never `required`: most clients cannot send tasks.
  const execution = capability.tool?.asTask ? { execution: { taskSupport: 'optional' } } : {};
  return {
    plain: JSON.stringify({ name, description, inputSchema: schema, annotations: { title, ...annotations } }),
    described: JSON.stringify(described),
    asTask: JSON.stringify({ ...described, ...execution }),
  };
}
