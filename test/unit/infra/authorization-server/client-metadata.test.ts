import { expect } from 'chai';
import {
  isDocumentAddress,
  pickDocument,
  pickMetadata,
} from '../../../../infra/authorization-server/client-metadata.ts';

const PUBLIC = {
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
};

describe('the metadata of an application that nobody registered', () => {
  it('is picked: a name in one line, a page and redirects; the rest is the same for all', () => {
    const picked = pickMetadata({
      client_name: 'A\u202Etool\n for  mail',
      client_uri: 'https://tool.example/',
      redirect_uris: ['https://tool.example/cb'],
      application_type: 'web',
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['client_credentials'],
      response_types: ['id_token'],
      scope: 'org:manage',
      jwks_uri: 'https://10.0.0.1/keys',
      sector_identifier_uri: 'https://10.0.0.1/sector',
      default_max_age: 10,
      logo_uri: 'https://tool.example/logo',
    });
    expect(picked).to.deep.equal({
      client_name: 'A tool for mail',
      client_uri: 'https://tool.example/',
      redirect_uris: ['https://tool.example/cb'],
      ...PUBLIC,
    });
  });

  it('has no name of invisible letters, and none that overlaps its neighbours', () => {
    const nameOf = (client_name: string) => pickMetadata({ client_name, redirect_uris: [] }).client_name;
    for (const blank of ['\u3164', '\u115f', '\u2800', '\u3164 \u2800\u200b'])
      expect(nameOf(blank), encodeURIComponent(blank)).to.equal(undefined);
    expect(nameOf('Tool\u3164\u3164box')).to.equal('Tool box');
    expect(nameOf(`e${'\u0301'.repeat(50)}!`)).to.equal(`e${'\u0301'.repeat(4)}!`);
  });

  it('has redirects to HTTPS and to the own machine only, at most ten', () => {
    const kept = [
      'https://a.example/cb',
      'http://127.0.0.1/cb',
      'http://localhost:8080/cb',
      'http://[::1]/cb',
    ];
    const dropped = [
      'http://a.example/cb', 'javascript:alert(1)', 'tool://cb', 'com.example.tool:/cb', 'https://a.example/cb#', 'https://a.example/cb#part', 'https://u:p@a.example/cb', 'cb', 7,
      'http://localhost.a.example/cb', `https://a.example/${'x'.repeat(2_000)}`,
    ]; // prettier-ignore
    expect(pickMetadata({ redirect_uris: [...dropped, ...kept] }).redirect_uris).to.deep.equal(kept);
    const many = Array.from({ length: 12 }, (_, index) => `https://a.example/${String(index)}`);
    expect(pickMetadata({ redirect_uris: many }).redirect_uris).to.have.length(10);
    expect(pickMetadata({ redirect_uris: 'https://a.example/cb' }).redirect_uris).to.deep.equal([]);
  });

  it('names no page without TLS, and no name that is empty', () => {
    const picked = pickMetadata({
      client_uri: 'http://tool.example/',
      client_name: ' \u200b ',
      redirect_uris: [],
    });
    expect(picked).to.deep.equal({ redirect_uris: [], ...PUBLIC });
  });

  it('refuses a document that names another client, a secret or a key', () => {
    const id = 'https://tool.example/client.json';
    const document = { client_id: id, redirect_uris: ['https://tool.example/cb'] };
    expect(pickDocument(id, document)).to.deep.equal({ ...document, ...PUBLIC });
    expect(pickDocument(id, { ...document, token_endpoint_auth_method: 'none' })).not.to.equal(null);
    for (const wrong of [
      { client_id: 'https://tool.example/other.json' },
      { client_id: undefined },
      { token_endpoint_auth_method: 'private_key_jwt' },
      { token_endpoint_auth_method: 'client_secret_post' },
      { client_secret: 'a secret' },
    ])
      expect(pickDocument(id, { ...document, ...wrong }), JSON.stringify(wrong)).to.equal(null);
  });
});

describe('isDocumentAddress', () => {
  it('admits the address of a file on a named host', () => {
    expect(isDocumentAddress('https://tool.example/client.json')).to.equal(true);
    expect(isDocumentAddress('https://tool.example:8443/a?b=c')).to.equal(true);
  });

  for (const [why, address] of [
    ['no TLS', 'http://tool.example/client.json'],
    ['no path', 'https://tool.example'],
    ['no path but a slash', 'https://tool.example/'],
    ['an IPv4 address', 'https://93.184.216.34/client.json'],
    ['an IPv4 address as one number', 'https://2130706433/client.json'],
    ['an IPv6 address', 'https://[2606:2800:220:1::1]/client.json'],
    ['another case', 'HTTPS://tool.example/client.json'],
    ['a host in capitals', 'https://TOOL.example/client.json'],
    ['the usual port written out', 'https://tool.example:443/client.json'],
    ['a way up', 'https://tool.example/a/../client.json'],
    ['a fragment', 'https://tool.example/client.json#a'],
    ['a name and password', 'https://u:p@tool.example/client.json'],
    ['no address', 'oac_0123'],
  ] as const)
    it(`refuses ${why}`, () => {
      expect(isDocumentAddress(address)).to.equal(false);
    });
});
