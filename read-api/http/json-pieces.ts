/** The JSON of an answer as bytes, in pieces: items that come again are written once and sent from the same memory. */
import { lastingItemsOf } from '../../commands/kernel/lasting-items.ts';

const written = new WeakMap<object, Buffer>();

/** One after the other the UTF-8 of an output's JSON. Never to be changed: a piece may be of many answers. */
export function jsonPieces(output: unknown): readonly Buffer[] {
  const items = lastingItemsOf(output);
  if (items === null) return [utf8Of(output)];
  const { items: _, ...others } = output as { readonly items: unknown };
  const rest = JSON.stringify(others).slice(1);
  return [BEGIN, bytesOf(items), Buffer.from(rest === '}' ? rest : `,${rest}`)];
}

const BEGIN = Buffer.from('{"items":');

function bytesOf(items: object): Buffer {
  const known = written.get(items);
  if (known) return known;
  const bytes = utf8Of(items);
  written.set(items, bytes);
  return bytes;
}

const utf8Of = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
