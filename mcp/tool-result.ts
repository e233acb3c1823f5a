/** The result of a tools/call as JSON text: `structuredContent` is authoritative; old hosts read the text. */
import { toErrorBody } from '../commands/values/errors.ts';

export interface ResultOptions {
  /** False where the operator disabled it: then `content` is empty, never missing. */
  readonly textBlock: boolean;
  /** Members of `_meta`, in revisions that put some in every result. */
  readonly meta: ResultMeta;
}

export type ResultMeta = Readonly<Record<string, unknown>>;

/** A successful answer, passed as JSON text so that it is serialised once. `notes` go to `_meta`. */
export const answerResult = (json: string, options: ResultOptions, notes: readonly string[] = []): string =>
  resultText(json, false, options, notes);

/** A domain error: a success for JSON-RPC, `isError` for the model. Texts of other errors are not shown. */
export const errorResult = (error: unknown, requestId: string, options: ResultOptions): string =>
  resultText(JSON.stringify({ error: toErrorBody(error, requestId) }), true, options, []);

function resultText(
  json: string,
  isError: boolean,
  { textBlock, meta }: ResultOptions,
  notes: readonly string[],
): string {
  const content = textBlock ? `[{"type":"text","text":${JSON.stringify(json)}}]` : '[]';
  const members = { ...meta, ...Object.fromEntries(notes.map((note) => [note, true])) };
  const written = Object.keys(members).length === 0 ? '' : `,"_meta":${JSON.stringify(members)}`;
  return `{"content":${content},"structuredContent":${json},"isError":${String(isError)}${written}}`;
}
