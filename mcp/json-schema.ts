/** JSON Schema as plain values: splits object schemas, joins them, and walks them. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ObjectSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  /** The other keywords, such as `description`. */
  readonly rest: JsonSchema;
}

/** The members of an object schema; any other schema has none. */
export function membersOf(schema: JsonSchema | undefined): ObjectSchema {
  const { properties = {}, required = [], ...rest } = schema ?? {};
  return { properties: properties as Record<string, JsonSchema>, required: required as string[], rest };
}

/** Joins members into a schema; `required` is present only when it names something. */
export const objectSchema = ({ properties, required, rest }: ObjectSchema): JsonSchema => ({
  ...rest,
  properties,
  ...(required.length === 0 ? {} : { required }),
});

const CHOICES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

/** The schema with each direct subschema changed. `name`: the property that holds or contains it. */
export function mapBelow(
  schema: JsonSchema,
  property: string,
  change: (below: JsonSchema, name: string) => JsonSchema,
): JsonSchema {
  const changed = (keyword: string, value: unknown): unknown => {
    if (keyword === 'properties') {
      const members = Object.entries(value as Record<string, JsonSchema>);
      return Object.fromEntries(members.map(([name, member]) => [name, change(member, name)]));
    }
    if (CHOICES.has(keyword)) return (value as JsonSchema[]).map((choice) => change(choice, property));
    // `additionalProperties` may also be a boolean.
    const isSchema = (keyword === 'items' || keyword === 'additionalProperties') && typeof value === 'object';
    return isSchema ? change(value as JsonSchema, `${property}_item`) : value;
  };
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, changed(keyword, value)]),
  );
}
