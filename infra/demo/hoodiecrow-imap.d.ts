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

  export interface OutgoingResponse {
    command?: string;
    attributes?: unknown[];
  }

  export interface ImapServer {
    readonly server: Server;
    readonly folderCache: Record<string, StoredFolder>;
    readonly outputHandlers: ((
      connection: unknown,
      response: OutgoingResponse,
      description: string | undefined,
      parsed: { readonly command?: string } | undefined,
    ) => void)[];
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
