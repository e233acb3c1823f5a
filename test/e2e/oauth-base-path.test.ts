/** A gateway below a path of its host, behind a proxy that takes the path away. */
import http from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { freePort } from '../../infra/platform/reserved-port.ts';
import { rejection } from '../support/suite/rejection.ts';
import { allow, ask, OAuthClient, ownerOf } from '../support/worlds/oauth/oauth-client.ts';
import { SdkMemory } from '../support/worlds/oauth/sdk-memory.ts';
import { startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';

const PATH = '/gw';

/** The well-known documents of a path lie beside it, so the proxy passes them on as they are. */
async function strippingProxy(port: number, target: () => string): Promise<http.Server> {
  const server = http.createServer((request, response) => {
    const url = request.url ?? '';
    const isBelow = url === PATH || url.startsWith(`${PATH}/`) || url.startsWith(`${PATH}?`);
    if (!isBelow && !url.startsWith('/.well-known/')) {
      response.writeHead(404).end('another site');
      return;
    }
    const path = isBelow ? url.slice(PATH.length) : url;
    const { method, headers } = request;
    const passed = http.request(`${target()}${path}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

describe('an application and a gateway below a path', function () {
  this.timeout(90_000);
  let gateway: TestGateway;
  let proxy: http.Server;
  let base: string;

  before(async () => {
    const port = await freePort('127.0.0.1');
    base = `http://127.0.0.1:${String(port)}${PATH}`;
    gateway = await startTestGateway({ env: { OAUTH_DCR: 'on', BASE_URL: base } });
    proxy = await strippingProxy(port, () => gateway.gateway.address);
  });
  after(async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
    await gateway.stop();
  });

  it('find each other from the address of /mcp, and never leave the path', async () => {
    const memory = new SdkMemory();
    const transport = () =>
      new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: memory });
    await rejection(new Client({ name: 'below', version: '1' }).connect(transport()));
    expect(memory.sentTo?.href.startsWith(`${base}/oauth/authorize?`)).to.equal(true);
    const asked = await ask(memory.sentTo?.href ?? '');
    expect(asked.location?.startsWith(`${base}/console#/connect/`)).to.equal(true);
    const uid = asked.location?.split('/').at(-1) ?? '';
    const [cookie = ''] = asked.headers.getSetCookie();
    expect(cookie.toLowerCase()).to.include(`path=${PATH}/oauth/authorize/${uid}`.toLowerCase());
    const begun = { uid, cookie: cookie.split(';', 1)[0] ?? '' };
    const client = new OAuthClient(base);
    const token = await client.consentToken(begun);
    const { redirectTo } = await allow(gateway.gateway.ports, token, ownerOf(gateway));
    expect(redirectTo.startsWith(`${base}/oauth/authorize/${uid}?decided=`)).to.equal(true);
    const answer = new URL((await client.resume(redirectTo, begun)).location ?? '');
    expect(answer.searchParams.get('iss')).to.equal(base);
    await transport().finishAuth(answer.searchParams);
    const connected = new Client({ name: 'below', version: '1' });
    await connected.connect(transport());
    expect((await connected.listTools()).tools.map(({ name }) => name)).to.include('get_identity');
    await connected.close();
  });
});
