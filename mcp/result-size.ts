/**
 * Keeps a tool's answer within the size a model can take (`contract.md` 15): fewer whole items first, then a
 * shorter body, never a cut inside JSON. A page is requested again with a smaller limit, so that its cursor
 * continues after the last item kept; a body with fewer characters, so that its offset is true. An answer
 * without pages loses the tail of its longest list, and reports it in `shortened`.
 */
import { isJsonObject } from '../commands/values/json-object.ts';
import type { Tool } from './tool.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface Sized<Outcome> {
  readonly outcome: Outcome;
  readonly json: string;
  /** False when even the smallest possible answer is too long; it is then sent whole. */
  readonly fits: boolean;
}

const MAX_REPEATS = 4;
/** Escapes make the length of a shorter body hard to predict. */
const BODY_MARGIN = 0.9;

const bytesOf = (text: string): number => Buffer.byteLength(text);
const jsonOf = (output: unknown): string => JSON.stringify(output);

/** Calls `invoke`, with a smaller page or shorter bodies while the answer exceeds `maxBytes`. */
export async function invokeWithin<Outcome extends { readonly output: unknown }>(
  tool: Tool,
  input: Fields,
  maxBytes: number,
  invoke: (input: Fields) => Promise<Outcome>,
): Promise<Sized<Outcome>> {
  let asked = input;
  let outcome = await invoke(asked);
  let json = jsonOf(outcome.output);
  for (let repeats = 0; repeats < MAX_REPEATS && bytesOf(json) > maxBytes; repeats += 1) {
    const less = askForLess(tool, asked, outcome.output, maxBytes);
    if (less === null) break;
    asked = less;
    outcome = await invoke(asked);
    json = jsonOf(outcome.output);
  }
  if (bytesOf(json) > maxBytes && !goesOn(outcome.output)) {
    json = cutLongestList(outcome.output, json, maxBytes);
  }
  return { outcome, json, fits: bytesOf(json) <= maxBytes };
}

/** True when a cursor continues after the last item: then no earlier item may be missing. */
const goesOn = (output: unknown): boolean =>
  isJsonObject(output) && isJsonObject(output['page']) && typeof output['page']['next_cursor'] === 'string';

/** The input that requests what fits, or null when a repeat cannot help. A write is never run twice. */
function askForLess(tool: Tool, input: Fields, output: unknown, maxBytes: number): Fields | null {
  if (tool.capability.effect !== 'read' || !isJsonObject(output) || !Array.isArray(output['items']))
    return null;
  const items: readonly unknown[] = output['items'];
  const room = maxBytes - (bytesOf(JSON.stringify(output)) - bytesOf(JSON.stringify(items)));
  const kept = fitting(items, room);
  if (items.length > 1 && hasPages(tool, input)) {
    return withLimit(tool, input, Math.min(items.length - 1, Math.max(1, kept)));
  }
  const chars = tool.bodies && kept === 0 ? fittingChars(items[0], room) : 0;
  return chars > 0 ? { ...input, max_body_chars: chars } : null;
}

/** Messages named by id are returned all at once: there is no page to reduce. */
const hasPages = (tool: Tool, { select }: Fields): boolean =>
  tool.limit === 'argument' ||
  (tool.limit === 'select' && !(isJsonObject(select) && 'message_ids' in select));

/** The number of leading items that take at most `room` bytes as a list. */
function fitting(items: readonly unknown[], room: number): number {
  let taken = 2;
  for (const [index, item] of items.entries()) {
    taken += bytesOf(JSON.stringify(item)) + 1;
    if (taken > room) return index;
  }
  return items.length;
}

function withLimit(tool: Tool, input: Fields, limit: number): Fields {
  if (tool.limit === 'argument') return { ...input, limit };
  const select = isJsonObject(input['select']) ? input['select'] : {};
  return { ...input, select: { ...select, limit } };
}

/** The body length with which a message takes at most `room` bytes; 0 when its body is not the cause. */
function fittingChars(message: unknown, room: number): number {
  const body = isJsonObject(message) ? message['body'] : undefined;
  const content = isJsonObject(body) ? body['content'] : undefined;
  if (typeof content !== 'string') return 0;
  const contentBytes = bytesOf(JSON.stringify(content));
  const contentRoom = room - (bytesOf(JSON.stringify(message)) - contentBytes);
  return Math.max(0, Math.floor(((content.length * contentRoom) / contentBytes) * BODY_MARGIN));
}

/** The answer without the tail of its longest list; `shortened` reports it. */
function cutLongestList(output: unknown, json: string, maxBytes: number): string {
  if (!isJsonObject(output)) return json;
  const lists = Object.entries(output)
    .filter((entry): entry is [string, readonly unknown[]] => Array.isArray(entry[1]))
    .map(([name, list]) => ({ name, list, bytes: bytesOf(JSON.stringify(list)) }))
    .sort((a, b) => b.bytes - a.bytes);
  const [longest] = lists;
  if (!longest) return json;
  const { name, list } = longest;
  const cut = (kept: number): string =>
    JSON.stringify({
      ...output,
      [name]: list.slice(0, kept),
      shortened: { [name]: { kept, total: list.length } },
    });
  const frame = bytesOf(cut(0)) + String(list.length).length;
  return cut(fitting(list, maxBytes - frame));
}
