/** Merges union choices that differ in one constant only into one choice. The valid values stay the same. */
import { type JsonSchema, mapBelow, membersOf, objectSchema } from './json-schema.ts';

/** An equivalent schema with fewer choices, if possible. */
export const joinChoices = (schema: JsonSchema): JsonSchema => {
  const below = mapBelow(schema, '', joinChoices);
  const { oneOf } = below;
  return Array.isArray(oneOf) ? { ...below, oneOf: joined(oneOf as JsonSchema[]) } : below;
};

interface Choice {
  readonly schema: JsonSchema;
  /** The property that is a constant, and its value. */
  readonly property: string | null;
  readonly values: readonly unknown[];
}

function joined(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  const choices = new Map<string, Choice>();
  for (const schema of schemas) {
    const choice = choiceOf(schema);
    const key = JSON.stringify(choice.property === null ? schema : withValues(choice, []));
    const known = choices.get(key);
    choices.set(key, known ? { ...known, values: [...known.values, ...choice.values] } : choice);
  }
  return [...choices.values()].map((choice) =>
    choice.values.length > 1 ? withValues(choice, choice.values) : choice.schema,
  );
}

function choiceOf(schema: JsonSchema): Choice {
  const [constant, ...more] = Object.entries(membersOf(schema).properties).filter(
    ([, member]) => 'const' in member,
  );
  if (constant === undefined || more.length > 0) return { schema, property: null, values: [] };
  return { schema, property: constant[0], values: [constant[1]['const']] };
}

function withValues({ schema, property }: Choice, values: readonly unknown[]): JsonSchema {
  const members = membersOf(schema);
  const name = property ?? '';
  const { const: _, ...member } = members.properties[name] ?? {};
  return objectSchema({
    ...members,
    properties: { ...members.properties, [name]: { ...member, enum: values } },
  });
}
