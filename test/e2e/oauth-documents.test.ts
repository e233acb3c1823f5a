/** Applications that publish their metadata: what is fetched, from where, and what is taken of it. */
import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import { RebindingName } from '../support/fakes/rebinding-name.ts';
import type { TestGateway } from '../support/worlds/gateway.ts';
import { DocumentHost } from '../support/worlds/oauth/document-host.ts';
import { OAuthClient, REDIRECT, type Reply } from '../support/worlds/oauth/oauth-client.ts';
import { openOAuthStage } from '../support/worlds/oauth/oauth-stage.ts';
import { codeOf, connect, type Deciding } from '../support/worlds/oauth/person-deciding.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

describe('an application that publishes its metadata', function () {
  this.timeout(90_000);
  let gateway: TestGateway;
  let owner: Deciding;
  let documents: DocumentHost;

  before(async () => {
    documents = await DocumentHost.open();
    const port = String(documents.port);
    ({ gateway, owner } = await openOAuthStage({ env: { EGRESS_ALLOW_OAUTH: `127.0.0.1/32:${port}` } }));
  });
  after(async () => {
    await gateway.stop();
    await documents[Symbol.asyncDispose]();
  });

  const clientOf = (clientId: string): OAuthClient => new OAuthClient(gateway.baseUrl, { clientId });

  /** A page, and no redirect anywhere. */
  const refused = async (clientId: string, status = 400): Promise<Reply> => {
    const reply = await clientOf(clientId).authorize();
    expect([reply.status, reply.location], reply.text).to.deep.equal([status, null]);
    expect(reply.headers.get('content-type')).to.match(/^text\/html/);
    return reply;
  };

  it('is connected, shown by its host, and asked for once', async () => {
    const id = documents.publish('/shown.json', { client_name: 'Shown\u202E tool\nwith lines', scope: 'x' });
    const client = clientOf(id);
    const begun = await client.begin();
    const read = await gateway.rest(
      'POST',
      '/auth/authorization-requests/read',
      { consent_token: await client.consentToken(begun) },
      { token: owner.bearer },
    );
    expect(JSON.stringify(read.body.application))
      .to.include('Shown tool with lines')
      .and.include('localhost');
    const { code } = await codeOf(client, owner, begun);
    expect((await client.exchange(code)).status).to.equal(200);
    await connect(client, owner);
    expect(documents.asked.filter((path) => path === '/shown.json')).to.have.length(1);
  });

  const HOSTILE: Readonly<Record<string, () => string>> = {
    'names another client': () =>
      documents.publish('/other.json', { client_id: 'https://example.com/x.json' }),
    'has a secret': () => documents.publish('/secret.json', { client_secret: 'known to all' }),
    'wants to use a secret': () =>
      documents.publish('/basic.json', { token_endpoint_auth_method: 'client_secret_basic' }),
    'wants to use a key': () =>
      documents.publish('/key.json', {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: documents.idOf('/keys'),
      }),
    'has no redirects': () => documents.publish('/none.json', { redirect_uris: [] }),
    'has redirects that are none': () =>
      documents.publish('/script.json', {
        redirect_uris: ['javascript:alert(1)', 'http://elsewhere.example/'],
      }),
    'is larger than 5 KiB': () =>
      documents.publish('/large.json', { client_uri: `https://x.example/${'a'.repeat(6_000)}` }),
    'is no JSON': () =>
      documents.serve('/text.json', (_, response) => {
        response.writeHead(200, JSON_TYPE).end('client_id');
      }),
    'is a list': () =>
      documents.serve('/list.json', (_, response) => {
        response.writeHead(200, JSON_TYPE).end('[]');
      }),
    'is elsewhere': () => {
      const to = documents.publish('/target.json', { client_id: documents.idOf('/moved.json') });
      return documents.serve('/moved.json', (_, response) => {
        response.writeHead(302, { location: to }).end();
      });
    },
    'does not exist': () => documents.idOf('/missing.json'),
    'breaks off': () =>
      documents.serve('/broken.json', (request, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': '1000' }).write('{');
        setTimeout(() => request.socket.destroy(), 20);
      }),
  };

  for (const [why, publish] of Object.entries(HOSTILE))
    it(`is refused when its document ${why}`, async () => {
      await refused(publish());
      expect(documents.asked).not.to.include('/target.json').and.not.to.include('/keys');
    });

  it('is refused without asking anybody at an address that no rule allows', async () => {
    const asked = documents.asked.length;
    const port = String(documents.port);
    for (const id of [
      // Another port of the allowed host.
      'https://localhost:1/client.json',
      'https://localhost/client.json',
      `https://127.0.0.1:${port}/client.json`,
      `https://[::1]:${port}/client.json`,
      `https://2130706433:${port}/client.json`,
      `https://localhost:${port}`,
      `https://localhost:${port}/`,
      `https://localhost:${port}/a/../client.json`,
      `https://localhost:${port}/client.json#fragment`,
      `https://user@localhost:${port}/client.json`,
      `https://LOCALHOST:${port}/client.json`,
      `http://localhost:${port}/client.json`,
      'https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/client.json',
      'https://no-such-name.invalid/client.json',
    ])
      await refused(id);
    expect(documents.asked.length).to.equal(asked);
  });

  it('is refused when its name leads elsewhere after the check, and nothing is connected there', async () => {
    using name = new RebindingName('rebind.example');
    // The allowed address stands for a public one; the other one is what the owner of the name is after.
    const [allowed, inside] = ['127.0.0.1', '127.0.0.3'];
    let connected = 0;
    const watched = net.createServer((socket) => {
      connected += 1;
      socket.destroy();
    });
    watched.listen(documents.port, inside);
    await once(watched, 'listening');
    try {
      const before = documents.connections;
      name.answer(allowed, inside);
      await refused(`https://rebind.example:${String(documents.port)}/checked.json`);
      expect(name.asked).to.be.at.least(1);
      expect(documents.connections, 'connected to the address that was checked').to.equal(before + 1);
      name.answer(inside);
      await refused(`https://rebind.example:${String(documents.port)}/blocked.json`);
      expect(name.asked).to.be.at.least(1);
      expect(connected).to.equal(0);
    } finally {
      watched.close();
    }
  });

  it('is refused in ten seconds by a host that does not finish', async () => {
    const id = documents.serve('/slow.json', (request, response) => {
      response.writeHead(200, JSON_TYPE);
      const drip = setInterval(() => response.write(' '), 200);
      request.socket.once('close', () => {
        clearInterval(drip);
      });
    });
    const began = performance.now();
    await refused(id);
    expect(performance.now() - began).to.be.below(20_000);
  });

  it('has redirects of its document only, at any port of the own machine', async () => {
    const id = documents.publish('/exact.json', { redirect_uris: [REDIRECT, 'https://app.example/back'] });
    const client = clientOf(id);
    for (const redirect of [
      'https://app.example/back/',
      'https://app.example/back?x=1',
      'https://app.example',
    ])
      expect((await client.authorize({ redirect_uri: redirect })).location, redirect).to.equal(null);
    const anyPort = REDIRECT.replace(/:\d+/, ':40001');
    expect((await client.authorize({ redirect_uri: anyPort })).location).to.include('/console#/connect/');
    const otherPort = await client.authorize({ redirect_uri: 'https://app.example:444/back' });
    expect(otherPort.location).to.equal(null);
  });
});
