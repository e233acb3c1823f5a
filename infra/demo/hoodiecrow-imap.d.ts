/** The parts of hoodiecrow-imap that the demo uses; the package has no types. */
declare module 'hoodiecrow-imap' {
  import type { Server, Socket } from 'node:net';

  export interface StoredMessage {
    uid: number;
    flags: string[];
    internaldate: string;
    /** One character per byte. */
    raw: string;
    parsed?: { text?: string };
  }

  export interface StoredFolder {
    path: string;
    uidvalidity: number;
    uidnext: number;
    subscribed: boolean;
    flags: string[];
    messages: StoredMessage[];
    'special-use'?: string;
  }

  export interface FolderSeed {
    uidvalidity: number;
    uidnext: number;
    subscribed?: boolean;
    messages: Partial<StoredMessage>[];
    folders?: Record<string, FolderSeed>;
    'special-use'?: string;
  }

  export interface ImapServerOptions {
    users: Record<string, { password: string }>;
    plugins: (string | ((server: ImapServer) => void))[];
    storage: { INBOX: FolderSeed; '': { separator: string; folders: Record<string, FolderSeed> } };
  }

  export interface TypedNode {
    readonly type: string;
    readonly value?: string | number | null;
    readonly section?: readonly AnswerNode[];
    readonly partial?: readonly number[];
  }

  export type AnswerNode = readonly AnswerNode[] | string | number | null | undefined | TypedNode;

  export interface OutgoingResponse {
    tag?: string;
    command?: string;
    attributes?: AnswerNode[];
    /** Somebody else has written it. */
    skipResponse?: boolean;
  }

  export interface ParsedCommand {
    readonly tag: string;
    readonly command?: string;
    readonly attributes?: readonly { readonly value?: string }[];
  }

  export interface FetchQuery {
    readonly partial?: readonly number[];
  }

  export interface Connection {
    readonly socket?: Socket;
    send(response: OutgoingResponse, description: string, parsed: ParsedCommand, data: unknown): void;
  }

  export type CommandHandler = (
    connection: Connection,
    parsed: ParsedCommand,
    data: unknown,
    done: () => void,
  ) => void;
  export type FetchHandler = (
    connection: Connection,
    message: StoredMessage,
    query: FetchQuery,
  ) => AnswerNode;

  export interface ImapServer {
    readonly server: Server;
    readonly folderCache: Record<string, StoredFolder>;
    readonly outputHandlers: ((
      connection: Connection,
      response: OutgoingResponse,
      description: string | undefined,
      parsed: ParsedCommand | undefined,
    ) => void)[];
    readonly fetchHandlers: Record<string, FetchHandler>;
    getCommandHandler(command: string): CommandHandler;
    setCommandHandler(command: string, handler: CommandHandler): void;
    readonly searchHandlers: Record<
      string,
      (connection: unknown, message: StoredMessage, index: number, value: string) => boolean
    >;
    createMailbox(path: string, folder?: FolderSeed): void;
    appendMessage(folder: string, flags: string[], internalDate: string, raw: string): void;
    listen(port: number, host: string, listening: () => void): void;
  }

  export type ConnectionSocket = Socket;
  const createServer: (options: ImapServerOptions) => ImapServer;
  export default createServer;
}

declare module 'hoodiecrow-imap/lib/commands/handlers/fetch.js' {
  import type { FetchHandler } from 'hoodiecrow-imap';

  const handlers: Record<'BODY' | 'BODY.PEEK', FetchHandler>;
  export default handlers;
}
