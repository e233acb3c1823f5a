/** Which fields of an event are sealed, as its schema tells. */
import { z } from 'zod';
import { allEvents } from '../commands/event-catalogue.ts';
import { sealedText } from '../commands/kernel/event-fields.ts';
import type { Sealed } from '../commands/kernel/ports.ts';
import type { Open } from './projection.ts';

const unwrapped = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodNullable || schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema;

const fieldsOf = (data: z.ZodType): readonly string[] =>
  data instanceof z.ZodObject
    ? Object.entries(data.shape).flatMap(([name, field]) =>
        unwrapped(field as z.core.$ZodType) === sealedText ? [name] : [],
      )
    : [];

const sealedFields: ReadonlyMap<string, readonly string[]> = new Map(
  allEvents.map(({ type, data }) => [type, fieldsOf(data)]),
);

/** Names of the sealed fields of an event type; they stand at the top of its data. */
export const sealedFieldsOf = (type: string): readonly string[] => sealedFields.get(type) ?? [];

/**
 * Event data with its sealed fields opened, null where the owner was erased. Only what the schema calls sealed is opened:
 * any other text may come from a caller, who could have put somebody's sealed text there. Throws `store_unavailable`.
 */
export async function openSealedFields(
  type: string,
  data: Readonly<Record<string, unknown>>,
  open: Open,
): Promise<Readonly<Record<string, unknown>>> {
  const opened: Record<string, string | null> = {};
  for (const field of sealedFieldsOf(type)) {
    const value = data[field];
    if (typeof value === 'string') opened[field] = await open(value as Sealed);
  }
  return { ...data, ...opened };
}
