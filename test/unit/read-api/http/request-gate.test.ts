import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { createToken, deleteToken } from '../../../../commands/organisation/manage-tokens.ts';
import { openRequestGates, type RequestGate } from '../../../../read-api/http/request-gate.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';

describe('the visitor of a request whose body has arrived', () => {
  let gateway: MemoryGateway;
  let gate: RequestGate;
  let elapsedMs: number;
  let uses: number;

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    elapsedMs = 0;
    uses = 0;
    const { clock } = gateway.ports;
    const ports = {
      ...gateway.ports,
      clock: { ...clock, now: () => clock.now(), elapsedMs: () => elapsedMs },
    };
    const noteUse = () => {
      uses += 1;
    };
    gate = openRequestGates(ports, { allowedOrigins: [], noteUse }).rest;
  });

  const issue = () =>
    gateway.call<{ id: string; token: string }>(createToken, {
      name: 'another',
      surface: 'rest',
      scopes: ['mailboxes:read'],
      expires_at: new Date(gateway.clock.now().getTime() + 86_400_000).toISOString(),
    });

  const requestWith = (token: string): IncomingMessage => {
    const request = new IncomingMessage(new Socket());
    request.headers.authorization = `Bearer ${token}`;
    return request;
  };

  it('is the one of its head when the body came with it', async () => {
    const request = requestWith((await issue()).token);
    const visitor = await gate.authenticate(request, 'req_1');
    elapsedMs += 20;
    expect(await gate.afterBody(request, visitor, 'req_1')).to.equal(visitor);
    expect(uses).to.equal(1);
  });

  it('is authenticated again when the body took longer', async () => {
    const request = requestWith((await issue()).token);
    const visitor = await gate.authenticate(request, 'req_1');
    elapsedMs += 21;
    await gate.afterBody(request, visitor, 'req_1');
    expect(uses).to.equal(2);
  });

  it(`is refused at once when a right has changed ${verifies('contract:2:revocation')}`, async () => {
    const { id, token } = await issue();
    const request = requestWith(token);
    const visitor = await gate.authenticate(request, 'req_1');
    await gateway.call(deleteToken, { token_id: id });
    expect(await rejection(gate.afterBody(request, visitor, 'req_1'))).to.include({ code: 'token_revoked' });
  });
});
