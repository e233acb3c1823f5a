import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { sendError } from '../../../../read-api/http/rest-answer.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('sendError', () => {
  it(`says when it is the recorded outcome of an earlier request ${verifies('contract:14:replayed')}`, async () => {
    const replies = [
      new GatewayError('conflict', 'No.', { replayed: true }),
      new GatewayError('conflict', 'No.'),
    ];
    const server = createServer((_, response) => {
      sendError(response, replies.shift(), 'req_1');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
    try {
      const [again, first] = [await fetch(url), await fetch(url)];
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      expect(first.headers.get('idempotency-replayed')).to.equal(null);
      expect(
        [await again.json(), await first.json()].map(
          (body) => (body as { error: { code: string } }).error.code,
        ),
      ).to.deep.equal(['conflict', 'conflict']);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
