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

/** True for a type whose data has a verifier of a secret, in some version. */
export const mayHoldVerifiers = (type: string): boolean => (verifiers.get(type) ?? []).length > 0;

/** The verifiers of secrets in event data; `undefined` where it should have one and does not. */
export function verifiersIn(type: string, data: Readonly<Record<string, unknown>>): readonly unknown[] {
  return (verifiers.get(type) ?? []).map((name) => data[name]);
}

export interface SealedField {
  /** The place of the text: a JSON Pointer (RFC 6901) into the body of the line. */
  readonly at: string;
  readonly sealed: Sealed;
}

/**
 * The sealed fields of event data. Only fields that the schema marks as sealed: any other text may come from a caller, who could
 * have inserted another person's sealed text.
 */
export function sealedFields(type: string, data: Readonly<Record<string, unknown>>): readonly SealedField[] {
  const found: SealedField[] = [];
  withTexts(type, data, (at, sealed) => {
    found.push({ at, sealed });
    return null;
  });
  return found;
}

/** Event data with another text, or none, in place of each sealed one. */
export function withTexts(
  type: string,
  data: Readonly<Record<string, unknown>>,
  textAt: (at: string, sealed: Sealed) => string | null,
): Readonly<Record<string, unknown>> {
  let shown: unknown = data;
  for (const path of sealedPaths.get(type) ?? []) shown = withTextsAt(shown, path, { at: '/data', textAt });
  return shown as Readonly<Record<string, unknown>>;
}

interface Place {
  readonly at: string;
  readonly textAt: (at: string, sealed: Sealed) => string | null;
}

/** Data that does not match the current schema was written by an earlier version. */
function withTextsAt(value: unknown, [step, ...rest]: Path, { at, textAt }: Place): unknown {
  if (step === undefined) return typeof value === 'string' ? textAt(at, value as Sealed) : value;
  const inside = (held: unknown, name: string): unknown =>
    withTextsAt(held, rest, { at: `${at}/${pointerStep(name)}`, textAt });
  if (step === EACH)
    return Array.isArray(value) ? value.map((item, index) => inside(item, String(index))) : value;
  if (typeof value !== 'object' || value === null || !(step in value)) return value;
  const held = value as Readonly<Record<string, unknown>>;
  return { ...held, [step]: inside(held[step], step) };
}

const pointerStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Event data with its sealed fields opened, null where the owner was erased. Throws `store_unavailable`. */
export async function openSealedFields(
  type: string,
  data: Readonly<Record<string, unknown>>,
  open: Open,
): Promise<Readonly<Record<string, unknown>>> {
  const fields = sealedFields(type, data);
  const texts = await Promise.all(fields.map(async ({ at, sealed }) => [at, await open(sealed)] as const));
  const byPlace = new Map(texts);
  return withTexts(type, data, (at) => byPlace.get(at) ?? null);
}
