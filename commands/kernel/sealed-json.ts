/** A text, or structured data as one JSON text: sealed, in clear only in older events. */
import type { z } from 'zod';
import type { PersonalData } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';

/** What `sealedOr` reads. */
export type SealedOr<Clear> = Sealed | { readonly clear: Clear };

export const sealJson = (
  personal: Pick<PersonalData, 'seal'>,
  ownerId: string,
  value: unknown,
): Promise<Sealed> => personal.seal(ownerId, JSON.stringify(value));

/** Null without a text, and once its owner was erased. */
export const openText = async (
  personal: Pick<PersonalData, 'open'>,
  held: SealedOr<string> | null,
): Promise<string | null> => (typeof held === 'string' ? await personal.open(held) : (held?.clear ?? null));

/** Null without data, and once its owner was erased. */
export async function openJson<Value>(
  personal: Pick<PersonalData, 'open'>,
  held: SealedOr<Value> | null,
  schema: z.ZodType<Value>,
): Promise<Value | null> {
  if (held === null) return null;
  if (typeof held !== 'string') return held.clear;
  const text = await personal.open(held);
  return text === null ? null : schema.parse(JSON.parse(text));
}
