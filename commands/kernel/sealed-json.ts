/** Structured data sealed as one JSON text, which older events hold in clear. */
import type { z } from 'zod';
import type { PersonalData, Sealed } from './ports.ts';

export type SealedJson<Value> = Sealed | { readonly clear: Value };

export const sealJson = (
  personal: Pick<PersonalData, 'seal'>,
  ownerId: string,
  value: unknown,
): Promise<Sealed> => personal.seal(ownerId, JSON.stringify(value));

/** Null where there is nothing, and where its owner was erased. */
export async function openJson<Value>(
  personal: Pick<PersonalData, 'open'>,
  held: SealedJson<Value> | null,
  schema: z.ZodType<Value>,
): Promise<Value | null> {
  if (held === null) return null;
  if (typeof held !== 'string') return held.clear;
  const text = await personal.open(held);
  return text === null ? null : schema.parse(JSON.parse(text));
}
