import { expect } from 'chai';
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../../../commands/values/errors.ts';
import { NEWEST_REVISION, revisionNamed } from '../../../mcp/protocol-revisions.ts';
import { checkAccept, checkContentType, checkVersion, sessionIdOf } from '../../../mcp/request-headers.ts';

function codeOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

describe('header validation of /mcp', () => {
  it('requires JSON as the content type', () => {
    for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/vnd.x+json']) {
      expect(
        codeOf(() => {
          checkContentType({ 'content-type': type });
        }),
      ).to.equal(null);
    }
    const refused: IncomingHttpHeaders[] = [
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/jsonx' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    ];
    for (const headers of refused) {
      expect(
        codeOf(() => {
          checkContentType(headers);
        }),
      ).to.equal('unsupported_media_type');
    }
  });

  it('requires that both JSON and an event stream are accepted', () => {
    for (const accept of [
      'application/json, text/event-stream',
      'TEXT/event-stream;q=0.5,application/*',
      '*/*',
    ]) {
      expect(
        codeOf(() => {
          checkAccept({ accept });
        }),
      ).to.equal(null);
    }
    for (const accept of ['application/json', 'text/event-stream', 'text/*', '']) {
      expect(
        codeOf(() => {
          checkAccept({ accept });
        }),
      ).to.equal('not_acceptable');
    }
    expect(
      codeOf(() => {
        checkAccept({});
      }),
    ).to.equal('not_acceptable');
  });

  it('requires a session id, and treats one outside visible ASCII as unknown', () => {
    expect(sessionIdOf({ 'mcp-session-id': 'abc-_~' })).to.equal('abc-_~');
    for (const id of ['', 'a b', 'é', 'x'.repeat(129)])
      expect(sessionIdOf({ 'mcp-session-id': id })).to.equal(null);
    expect(codeOf(() => sessionIdOf({}))).to.equal('invalid_request');
  });

  it('requires the negotiated revision, except in 2025-03-26', () => {
    const version = (sent: string | undefined): IncomingHttpHeaders => ({ 'mcp-protocol-version': sent });
    const oldest = revisionNamed('2025-03-26') ?? NEWEST_REVISION;
    expect(
      codeOf(() => {
        checkVersion(version('2025-11-25'), NEWEST_REVISION);
      }),
    ).to.equal(null);
    expect(
      codeOf(() => {
        checkVersion(version(undefined), oldest);
      }),
    ).to.equal(null);
    expect(
      codeOf(() => {
        checkVersion(version('2025-03-26'), oldest);
      }),
    ).to.equal(null);
    for (const sent of [undefined, '2025-06-18', 'x', '']) {
      expect(
        codeOf(() => {
          checkVersion(version(sent), NEWEST_REVISION);
        }),
      ).to.equal('protocol_version_unsupported');
    }
    expect(
      codeOf(() => {
        checkVersion(version('2025-11-25'), oldest);
      }),
    ).to.equal('protocol_version_unsupported');
  });
});
