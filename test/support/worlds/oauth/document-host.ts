/** An HTTPS host on loopback that publishes the metadata of applications, trusted by this process until it closes. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import https from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { selfSigned } from '../../servers/self-signed.ts';
import { REDIRECT } from './oauth-client.ts';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

export class DocumentHost implements AsyncDisposable {
  readonly #server: https.Server;
  readonly #close: () => Promise<void>;
  readonly #served = new Map<string, Serve>();
  /** The paths that were asked for, in order. */
  readonly asked: string[] = [];
  /** Also of those that ask for nothing. */
  connections = 0;

  private constructor(server: https.Server, close: () => Promise<void>) {
    this.#server = server;
    this.#close = close;
    server.on('connection', () => {
      this.connections += 1;
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const path = request.url ?? '';
      this.asked.push(path);
      const serve = this.#served.get(path);
      if (serve) serve(request, response);
      else response.writeHead(404).end();
    });
  }

  static async open(): Promise<DocumentHost> {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-documents-'));
    const { certificateFile, keyFile } = await selfSigned(folder);
    const [cert, key] = await Promise.all([readFile(certificateFile, 'utf8'), readFile(keyFile, 'utf8')]);
    const before = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...before, cert]);
    const server = https.createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new DocumentHost(server, async () => {
      tls.setDefaultCACertificates(before);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The client id whose document is at the path. */
  idOf(path: string): string {
    return `https://localhost:${String(this.port)}${path}`;
  }

  /** Publishes an application there; returns its client id. */
  publish(path: string, changes: object = {}): string {
    const id = this.idOf(path);
    const document = { client_id: id, client_name: 'Document tool', redirect_uris: [REDIRECT], ...changes };
    return this.serve(path, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    });
  }

  serve(path: string, serve: Serve): string {
    this.#served.set(path, serve);
    return this.idOf(path);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}
