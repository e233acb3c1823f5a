import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import express from 'express';
import { GRANTABLE_SCOPES } from '../../../../commands/oauth/oauth-grant.ts';
import { oauthMetadata, resourceMetadataUrl } from '../../../../read-api/http/oauth-metadata.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ROOT = 'https://mail.example';
const BELOW = 'https://mail.example/gw';

describe('the metadata for MCP clients', () => {
  const servers: http.Server[] = [];
  after(() => {
    for (const server of servers) server.close();
  });

  const serving = async (baseUrl: string, selfRegistration = false) => {
    const app = express().use('/.well-known', oauthMetadata({ baseUrl, selfRegistration }));
    const server = http.createServer(app).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return async (path: string, method = 'GET') => {
      const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, { method });
      const text = await answer.text();
      const json = answer.status === 200 ? (JSON.parse(text) as Record<string, unknown>) : {};
      return { status: answer.status, headers: answer.headers, json };
    };
  };

  it(`names the resource exactly, at the root and at its path ${verifies('contract:18:oauth-discovery')}`, async () => {
    const get = await serving(ROOT);
    expect(resourceMetadataUrl(ROOT)).to.equal(`${ROOT}/.well-known/oauth-protected-resource/mcp`);
    for (const path of ['', '/mcp']) {
      const { json, headers } = await get(`/.well-known/oauth-protected-resource${path}`);
      expect(json).to.include({ resource: `${ROOT}/mcp` });
      expect(json['authorization_servers']).to.deep.equal([ROOT]);
      expect(headers.get('access-control-allow-origin')).to.equal('*');
      expect(headers.get('cache-control')).to.equal('public, max-age=300');
    }
  });

  it('says what the authorization server does, and of registration only where it is on', async () => {
    const get = await serving(ROOT);
    const { json } = await get('/.well-known/oauth-authorization-server');
    expect(json).to.include({
      issuer: ROOT,
      authorization_endpoint: `${ROOT}/oauth/authorize`,
      token_endpoint: `${ROOT}/oauth/token`,
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
    expect(json['code_challenge_methods_supported']).to.deep.equal(['S256']);
    expect(json['token_endpoint_auth_methods_supported']).to.include('none');
    expect(json['scopes_supported']).to.deep.equal(GRANTABLE_SCOPES);
    expect(json).not.to.have.property('registration_endpoint');
    const open = await serving(ROOT, true);
    const { json: registering } = await open('/.well-known/oauth-authorization-server');
    expect(registering).to.include({ registration_endpoint: `${ROOT}/oauth/register` });
  });

  it('is right when BASE_URL has a path, also behind a proxy that removes it', async () => {
    const get = await serving(BELOW);
    expect(resourceMetadataUrl(BELOW)).to.equal(`${ROOT}/.well-known/oauth-protected-resource/gw/mcp`);
    for (const path of ['', '/mcp', '/gw', '/gw/mcp'])
      expect((await get(`/.well-known/oauth-protected-resource${path}`)).json).to.include({
        resource: `${BELOW}/mcp`,
      });
    for (const path of ['', '/gw'])
      expect((await get(`/.well-known/oauth-authorization-server${path}`)).json).to.include({
        issuer: BELOW,
        jwks_uri: `${BELOW}/oauth/jwks`,
      });
  });

  it('answers preflights and nothing else', async () => {
    const get = await serving(ROOT);
    expect((await get('/.well-known/oauth-authorization-server', 'OPTIONS')).status).to.equal(204);
    expect((await get('/.well-known/oauth-authorization-server', 'POST')).status).to.equal(404);
    expect((await get('/.well-known/openid-configuration')).status).to.equal(404);
  });
});
