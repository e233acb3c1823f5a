/** A capability is declared once; routes, tools, scope checks, idempotency and contract files derive from it. */
import { z } from 'zod';
import type { Caller } from './access.ts';
import type { Author, Writer } from './decide-and-append.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { resultGone } from './idempotency.ts';
import type { ErrorCode } from '../values/errors.ts';
import type { IdPrefix } from '../values/ids.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import type { Scope } from '../values/scopes.ts';

export interface Request {
  readonly id: string;
  readonly surface: 'rest' | 'mcp' | 'console';
  readonly idempotencyKey: string | null;
  /** The version of an `If-Match` header, without quotes. */
  readonly ifMatch: string | null;
  /** The position of an `If-Position` header: reads wait for it. */
  readonly ifPosition: Position | null;
  /** The MCP session, where there is one. */
  readonly mcpSessionId: string | null;
  /** For waits: aborts when the client is gone. */
  readonly gone?: AbortSignal;
}

/** The second argument of a handler. */
export interface Context {
  readonly caller: Caller;
  readonly ports: Ports;
  readonly request: Request;
  /** Envelope of the events this request writes. */
  readonly author: Author;
  readonly writer: Writer;
  readonly registry: readonly Capability[];
  /** HMAC of capability name and canonical input: a key is valid only for the same one; empty for reads. */
  readonly fingerprint: string;
  /** Sets the `Position` header of the response; call it with the position of every append. */
  notePosition(position: Position | null | undefined): void;
  /**
   * Takes the Idempotency-Key for this request, after every check that needs only the request and loaded state. Returns the
   * id of the object to make: a new one, or the one chosen when the same key was used before. `mailboxId`: the mailbox, where
   * the input does not name it; a stored refusal is erased with it.
   */
  claim(prefix: IdPrefix, mailboxId?: string): Promise<string>;
  /** Marks the answer as a repeat: `Idempotency-Replayed: true`. */
  markReplayed(): void;
  /**
   * The outcome of this request is final and in the stream of its object, where `replay` finds it: it is not recorded a second
   * time with the key.
   */
  markRecorded(): void;
  /** Nothing was made: the answer is a 200 (`rest.orUnchanged`). */
  markUnchanged(): void;
  /** Notes the output as JSON, where it was serialised before: the response is then that text. */
  noteJson(json: string): void;
  /** Records a read of message bodies, raw messages or attachments; the response waits until the event is stored. */
  recordRead(read: ReadRecord): Promise<void>;
}

export interface ReadRecord {
  readonly mailboxId: string;
  readonly messageIds: readonly string[];
  readonly what: 'text' | 'raw' | 'attachment' | 'approval' | 'draft';
  /** For `attachment`. */
  readonly attachmentIds?: readonly string[];
  /** For `approval`. */
  readonly approvalIds?: readonly string[];
  /** For `draft`. */
  readonly draftIds?: readonly string[];
}

export interface Access<Input> {
  /** At least one of these is needed to see the capability at all. */
  readonly any: readonly Scope[];
  /** The mailbox of the input; the scopes on it then decide. */
  readonly mailbox?: (input: Input) => string;
  /** All of these are needed for this input; absent = one of `any`. */
  readonly needs?: (input: Input) => readonly Scope[];
  /** A person who is signed in needs none of them, for their own tokens and agents (`contract.md` 3). */
  readonly freeInSession?: true;
  /** The caller must be a signed-in person; a token is not enough, whatever its scopes (`contract.md` 20). */
  readonly inSession?: true;
  /**
   * A session, or a token made from one, must be stepped up (`contract.md` 18); other tokens need only their scopes. A
   * function: for these inputs.
   */
  readonly steppedUp?: true | ((input: Input) => boolean);
}

/** Without scopes: any credential, only a session, or only a session that is stepped up. */
export type AccessForAll = 'any-token' | 'session' | 'stepped-up-session';

/** The response to a key that was used before: the current state; null when nothing was made, then the handler runs. */
export type Replay<Input, Output> = (
  targetId: string,
  input: Input,
  context: Context,
  settled: boolean,
) => Promise<Output | null>;

export type IdempotencyRule<Input, Output> =
  /** Reads, and writes that a repeat cannot harm. */
  | { readonly kind: 'none' }
  /** The first append of an operation is the claim. */
  | {
      readonly kind: 'operation';
      readonly required: (input: Input) => boolean;
      /** The condition in words for the OpenAPI document, where the input decides. */
      readonly requiredWhen?: string;
      /** For inputs that make or change an object instead: their key is a claim. Null = an operation. */
      readonly claimed?: (input: Input) => Replay<Input, Output> | null;
    }
  /**
   * `context.claim` takes the key; `replay` answers with the current state, or null when nothing was made: then the
   * handler runs (again). `settled` is false when the first request was interrupted before its end was recorded.
   */
  | {
      readonly kind: 'claim';
      /** Every request needs a key; absent = it may have one. */
      readonly required?: true;
      /** The stream of the object may hold the outcome (`markRecorded`); `replay` then only reads. */
      readonly recordsOutcome?: true;
      /**
       * The handler has no effect before `context.claim` resolves. So a key that no earlier request has is not read before it
       * is taken.
       */
      readonly claimsFirst?: true;
      readonly replay: Replay<Input, Output>;
    };

export interface ToolHints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  /** True when the answer holds text from outside, such as mail. */
  readonly openWorld: boolean;
}

export interface CapabilityDefinition<Input, Output> {
  /** snake_case; a tool has this name. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** Written for a model: what it does, when to use it and when not, what it returns. */
  readonly description: string;
  readonly effect: 'read' | 'write';
  /** Of a write: true for inputs that change nothing. Those are counted as reads (`contract.md` 15). */
  readonly onlyReads?: (input: Input) => boolean;
  readonly access: Access<Input> | AccessForAll;
  /** Path under `/api/v1`, parameters as `:name`. Null = no route. */
  readonly rest: {
    readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
    readonly path: string;
    readonly status?: 200 | 201 | 202 | 204;
    /** For 201: a 200 where the handler made nothing (`markUnchanged`). */
    readonly orUnchanged?: true;
    /** What a client gets that prefers `text/plain`. */
    readonly asText?: (output: Output) => string;
    /** For 201: the path of what was made. */
    readonly location?: (output: Output) => string;
    /** The whole body is this input field (`GET|PUT folder-roles` take a bare map). */
    readonly bodyField?: string;
    /** A DELETE whose fields are in a JSON body instead of the query. */
    readonly deleteBody?: true;
    /** The whole body is this input field as a stream of bytes (`UploadedBytes`); the other fields are in the query. */
    readonly bodyBytes?: string;
    /** The body may hold the key of the request as `idempotency_key`, as the tool's arguments do. */
    readonly bodyKey?: true;
    /** The output is a `ByteAnswer` of this media type, or of one of several. */
    readonly answerBytes?: string | readonly string[];
    /** Each request makes other bytes (`isNew`), so none can be asked for in ranges. */
    readonly noRange?: true;
    /** Each request is recorded as an effect of its own, and HEAD would have none of what was recorded. */
    readonly noHead?: true;
    /** Headers of its answer besides those that every route has. */
    readonly headers?: readonly string[];
  } | null;
  readonly tool: {
    readonly surface: 'advertised' | 'granular';
    readonly hints: ToolHints;
    /** May be called as a task (MCP 2025-11-25). */
    readonly asTask?: true;
  } | null;
  /** An owner may use it while the organisation is deleted and can be restored. */
  readonly whileDeleted?: true;
  /** It waits for up to a minute, so it is counted separately (`contract.md` 15). */
  readonly waits?: true;
  /** Codes that its handler answers with and that do not follow from the rest of this. */
  readonly errors?: readonly ErrorCode[];
  readonly idempotency: IdempotencyRule<Input, Output>;
  /** A strict object: unknown fields are refused. */
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** The strong ETag of the answer. */
  readonly etag?: (output: Output) => string;
  /**
   * A write that compares `If-Match` with the version of the object in its path. Any other write refuses the header, because
   * the client relies on it (RFC 9110 13.1.1).
   */
  readonly ifMatch?: true;
  handle(input: Input, context: Context): Promise<Output>;
}

/** A capability without its input and output types, for the adapters; only `invokeCapability` parses the input for a handler. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the one place where the type parameters are erased
export type Capability = CapabilityDefinition<any, any>;

/** Checks the types of a declaration; returns it unchanged. */
export const defineCapability = <Input, Output>(
  definition: CapabilityDefinition<Input, Output>,
): CapabilityDefinition<Input, Output> => definition;

/**
 * The last step of every change of rights: waits until every process has applied it. `position` is the end of the stream,
 * also when nothing was appended, because an earlier attempt may have been interrupted before this wait. Throws
 * `store_unavailable`.
 */
export async function answerWhenKnown(context: Context, position: Position | null): Promise<void> {
  if (position === null) return;
  context.notePosition(position);
  await context.ports.directory.waitFor(position);
}

/**
 * For the `replay` of a creation: the entry of what an earlier request made; null when nothing was made yet. The stream of the
 * object tells, because the directory of this process may not know it yet (ADR 177). Waits as `answerWhenKnown` does. Throws
 * `not_found` when the object is gone since.
 */
export async function madeBefore<Entry>(
  context: Context,
  stream: string,
  find: (state: DirectoryState) => Entry | undefined,
): Promise<Entry | null> {
  const last = await context.ports.events.readLast(stream);
  if (last === null) return null;
  await answerWhenKnown(context, last.position);
  const entry = find(context.ports.directory.state);
  if (entry === undefined) throw resultGone();
  return entry;
}

/** The response of a 204: no fields. */
export const Nothing = z.object({});
export type Nothing = z.output<typeof Nothing>;

/** Replay of a write without output; an interrupted one runs again. */
export const replayNothing = (
  _targetId: string,
  _input: unknown,
  _context: unknown,
  settled: boolean,
): Promise<Nothing | null> => Promise.resolve(settled ? {} : null);
