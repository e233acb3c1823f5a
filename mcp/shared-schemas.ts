/**
 * Writes a schema that a tool's arguments repeat only once, under `$defs`: a model pays for every character.
 * The valid input stays the same. A definition is named after the property where it first occurs.
 */
import { type JsonSchema, mapBelow } from './json-schema.ts';

interface Repeated {
  readonly text: string;
  readonly name: string;
  count: number;
}

type Definitions = Readonly<Record<string, JsonSchema>>;

/** An equivalent schema, with `$defs` wherever they make it shorter. */
export function shareRepeated(schema: JsonSchema): JsonSchema {
  let root = schema;
  let definitions: Definitions = {};
  // Each round shortens the schema, so the loop ends.
  for (;;) {
    const best = mostSaving(root, definitions);
    if (best === null) return Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions };
    const { text } = best;
    const name = freeName(best.name, definitions);
    const kept = Object.entries(definitions).map(([each, old]) => [each, withRef(old, text, name)] as const);
    root = withRef(root, text, name);
    definitions = { ...Object.fromEntries(kept), [name]: JSON.parse(text) as JsonSchema };
  }
}

const refTo = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` });

/** Characters saved when repetitions become references to one definition; negative when there are more. */
const saving = ({ text, name, count }: Repeated): number =>
  count * (text.length - JSON.stringify(refTo(name)).length) - `"${name}":${text},`.length;

function mostSaving(root: JsonSchema, definitions: Definitions): Repeated | null {
  const found = new Map<string, Repeated>();
  const note = (schema: JsonSchema, name: string): JsonSchema => {
    const text = JSON.stringify(schema);
    const known = found.get(text);
    if (known) known.count += 1;
    else found.set(text, { text, name, count: 1 });
    return mapBelow(schema, name, note);
  };
  for (const [name, definition] of Object.entries(definitions)) mapBelow(definition, name, note);
  mapBelow(root, '', note);
  const [best] = [...found.values()].sort((one, other) => saving(other) - saving(one));
  return best && saving(best) > 0 ? best : null;
}

const withRef = (schema: JsonSchema, text: string, name: string): JsonSchema =>
  mapBelow(schema, '', (below) =>
    JSON.stringify(below) === text ? refTo(name) : withRef(below, text, name),
  );

function freeName(wanted: string, taken: Definitions): string {
  let name = wanted;
  for (let number = 2; name in taken; number += 1) name = `${wanted}_${String(number)}`;
  return name;
}
