/** JSON Schema as plain values: taking object schemas apart, putting them together, and going through one. */
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

const CHOICES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

/** The schema with each one directly below it changed; `name` is the property that one stands at, or holds it. */
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
    // `additionalProperties` may be a boolean too.
    const isSchema = (keyword === 'items' || keyword === 'additionalProperties') && typeof value === 'object';
    return isSchema ? change(value as JsonSchema, `${property}_item`) : value;
  };
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, changed(keyword, value)]),
  );
}
