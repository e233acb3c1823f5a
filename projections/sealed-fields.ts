/** Which fields of an event are sealed, according to its schema. */
import { z } from 'zod';
import { allEvents } from '../commands/event-catalogue.ts';
import { sealedText, sealedVerifier } from '../commands/values/event-fields.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import type { Open } from './projection.ts';

/** Names from the top of the data down to a sealed text; `*` matches each item of a list. */
type Path = readonly string[];

const EACH = '*';

function pathsOf(schema: z.core.$ZodType, wanted: z.core.$ZodType): readonly Path[] {
  if (schema === wanted) return [[]];
  // Older events contain in clear text, under other names, what is sealed in newer ones.
  if (schema instanceof z.ZodUnion && schema !== sealedVerifier && schema.options[0] === wanted) return [[]];
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return pathsOf(schema.unwrap(), wanted);
  if (schema instanceof z.ZodArray) return pathsOf(schema.element, wanted).map((path) => [EACH, ...path]);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, field]) =>
    pathsOf(field, wanted).map((path) => [name, ...path]),
  );
}

const pathsTo = (wanted: z.core.$ZodType): ReadonlyMap<string, readonly Path[]> =>
  new Map(allEvents.map(({ type, data }) => [type, pathsOf(data, wanted)]));

const sealedPaths = pathsTo(sealedText);
/** Verifiers of secrets are at the top of the data, under one name in every version of their event. */
const verifiers: ReadonlyMap<string, readonly string[]> = new Map(
  [...pathsTo(sealedVerifier)].map(([type, paths]) => [type, paths.flatMap(([name]) => name ?? [])]),
);

/** Event data without its verifiers of secrets, in any version. */
export function withoutVerifiers(
  type: string,
  data: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const hidden = verifiers.get(type) ?? [];
  if (hidden.length === 0) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => !hidden.includes(name)));
}

/**
 * Event data with its sealed fields opened, null where the owner was erased. Only fields that the schema marks as sealed
 * are opened: any other text may come from a caller, who could have inserted another person's sealed text. Throws
 * `store_unavailable`.
 */
export async function openSealedFields(
  type: string,
  data: Readonly<Record<string, unknown>>,
  open: Open,
): Promise<Readonly<Record<string, unknown>>> {
  let opened: unknown = data;
  for (const path of sealedPaths.get(type) ?? []) opened = await openAt(opened, path, open);
  return opened as Readonly<Record<string, unknown>>;
}

/** A copy with the text at the path opened. Data that does not match the current schema was written by an earlier version. */
async function openAt(value: unknown, [step, ...rest]: Path, open: Open): Promise<unknown> {
  if (step === undefined) return typeof value === 'string' ? await open(value as Sealed) : value;
  if (step === EACH) {
    return Array.isArray(value) ? await Promise.all(value.map((item) => openAt(item, rest, open))) : value;
  }
  if (typeof value !== 'object' || value === null || !(step in value)) return value;
  const held = value as Readonly<Record<string, unknown>>;
  return { ...held, [step]: await openAt(held[step], rest, open) };
}
