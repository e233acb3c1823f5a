/** A capability is declared once; routes, tools, scope checks, idempotency and contract files derive from it. */
import type { z } from 'zod';
import type { Caller } from './access.ts';
import type { Author, Writer } from './decide-and-append.ts';
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

/** What a handler gets beside its input. */
export interface Context {
  readonly caller: Caller;
  readonly ports: Ports;
  readonly request: Request;
  /** Envelope of the events this request writes. */
  readonly author: Author;
  readonly writer: Writer;
  readonly registry: readonly Capability[];
  /** HMAC of capability name and canonical input: what an Idempotency-Key stands for; empty for reads. */
  readonly fingerprint: string;
  /** Tells the answer's `Position` header; call it with every append's position. */
  notePosition(position: Position | null | undefined): void;
  /**
   * Takes the Idempotency-Key for this request, once everything the request and loaded state show has been checked.
   * Returns the id of what is made: fresh, or the one chosen when the same key was used before. `mailboxId`: which mailbox it
   * is about, where the input does not say so; what is kept of a refusal is erased with it.
   */
  claim(prefix: IdPrefix, mailboxId?: string): Promise<string>;
  /** Marks the answer as a repeat: `Idempotency-Replayed: true`. */
  markReplayed(): void;
  /** Records that message bodies, raw messages or attachments were read; the answer waits until the event is in the stream. */
  recordRead(read: ReadRecord): Promise<void>;
}

export interface ReadRecord {
  readonly mailboxId: string;
  readonly messageIds: readonly string[];
  readonly what: 'text' | 'raw' | 'attachment' | 'approval' | 'draft';
  /** Which attachments, where that is what was read. */
  readonly attachmentIds?: readonly string[];
  /** Which checks, where that is what was read. */
  readonly approvalIds?: readonly string[];
  /** Which drafts, where that is what was read. */
  readonly draftIds?: readonly string[];
}

export interface Access<Input> {
  /** At least one of these is needed to see the capability at all. */
  readonly any: readonly Scope[];
  /** The mailbox the input is about; its scopes then decide. */
  readonly mailbox?: (input: Input) => string;
  /** All of these are needed for this input; absent = one of `any`. */
  readonly needs?: (input: Input) => readonly Scope[];
  /** A person who is signed in needs none of them: own tokens and agents (`contract.md` 3). */
  readonly freeInSession?: true;
  /**
   * In a session, and with a token made from one, only while that session is stepped up (`contract.md` 18); other tokens
   * have their scopes. A function: for these inputs.
   */
  readonly steppedUp?: true | ((input: Input) => boolean);
}

/** Whatever the scopes: everybody with a credential, only a person who is signed in, or one who is stepped up as well. */
export type AccessForAll = 'any-token' | 'session' | 'stepped-up-session';

/** Answers a request whose key was used before with the current state; null when nothing was made: then the handler runs. */
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
      /** Where the input decides: when, in words for the OpenAPI document. */
      readonly requiredWhen?: string;
      /** For inputs that are no operation but make or change an object: their key is a claim. Null = an operation. */
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
  /** Written for a model: what it does, when to use it and when not, what comes back. */
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
    /** For 201: the path of what was made. */
    readonly location?: (output: Output) => string;
    /** The whole body is this input field (`GET|PUT folder-roles` take a bare map). */
    readonly bodyField?: string;
    /** The whole body is this input field as a stream of bytes (`UploadedBytes`); the other fields are in the query. */
    readonly bodyBytes?: string;
    /** The body may hold the key of the request as `idempotency_key`, as the tool's arguments do. */
    readonly bodyKey?: true;
    /** The output is a `ByteAnswer` of this media type. */
    readonly answerBytes?: string;
  } | null;
  readonly tool: {
    readonly surface: 'advertised' | 'granular';
    readonly hints: ToolHints;
    /** May be called as a task (MCP 2025-11-25). */
    readonly asTask?: true;
  } | null;
  /** Takes up to a minute in which it does nothing, so it is counted apart (`contract.md` 15). */
  readonly waits?: true;
  readonly idempotency: IdempotencyRule<Input, Output>;
  /** A strict object: unknown fields are refused. */
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** The strong ETag of the answer. */
  readonly etag?: (output: Output) => string;
  /**
   * A write that holds `If-Match` against the version of the object its path names. On any other write the header is
   * refused: the client that sends it relies on it (RFC 9110 13.1.1).
   */
  readonly ifMatch?: true;
  handle(input: Input, context: Context): Promise<Output>;
}

/**
 * A capability as the faces hold it, its input and output types forgotten: only `invokeCapability` brings parsed input
 * and handler together again.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the one place where the type parameters are erased
export type Capability = CapabilityDefinition<any, any>;

/** Checks a declaration's types; the object itself is left as written. */
export const defineCapability = <Input, Output>(
  definition: CapabilityDefinition<Input, Output>,
): CapabilityDefinition<Input, Output> => definition;
