import { expect } from 'chai';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { AuthorizationRequest } from '../../../../commands/ports/mail-logins.ts';
import { finishAuthorization } from '../../../../commands/mailboxes/finish-authorization.ts';
import { assertStillAllowed } from '../../../../commands/mailboxes/keep-tokens.ts';
import { stateOf, WORLD_NOW } from '../../../support/worlds/access-world.ts';
import { memoryPorts } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { thrown } from '../../../support/suite/thrown.ts';

const later = new Date(WORLD_NOW.getTime() + 3_600_000).toISOString();
const request: AuthorizationRequest = {
  provider: 'google',
  orgId: 'org_1',
  mailboxId: 'mbx_0',
  email: 'box@example.com',
  hosts: 'imap.example.com',
  requester: { principalId: 'usr_1', tokenId: 'ses_1', actor: 'person', requestId: 'req_1' },
};

/** A person of this role who asked in a session, which ended at this time or never. */
function asking(role: 'admin' | 'member', endedAt: string | null = null): Ports {
  const { ports } = memoryPorts();
  const mailbox = { isRemoved: false, isForeign: false, grant: null, ownersGrant: null };
  const bare = stateOf({
    kind: 'user', role, tokenScopes: [], tokenMailboxIds: null, mailboxes: [mailbox, mailbox],
  }); // prettier-ignore
  const session = {
    id: 'ses_1', orgId: 'org_1', userId: 'usr_1', secretHash: null, startedAt: WORLD_NOW.toISOString(), position: '2',
    expiresAt: later, steppedUpUntil: null, endedAt, client: null,
  }; // prettier-ignore
  const state = { ...bare, sessions: new Map([['ses_1', session]]) };
  return {
    ...ports,
    clock: { ...ports.clock, now: () => WORLD_NOW },
    directory: {
      state,
      version: 1,
      isCurrent: true,
      untilCurrent: () => Promise.resolve(true),
      waitFor: () => Promise.resolve(),
      waitForAll: () => Promise.resolve(),
    },
  };
}

describe('finishAuthorization in a session', () => {
  it('is allowed while the session lasts and the person still has the right', () => {
    assertStillAllowed(asking('admin'), request);
    const ended = thrown(() => {
      assertStillAllowed(asking('admin', WORLD_NOW.toISOString()), request);
    });
    expect(ended.code).to.equal('insufficient_scope');
    const lowered = thrown(() => {
      assertStillAllowed(asking('member'), request);
    });
    expect(lowered.code).to.be.oneOf(['insufficient_scope', 'not_found']);
  });

  it('is recorded in the audit trail under that session', async () => {
    const actors: unknown[] = [];
    const accessLog: Ports['accessLog'] = {
      record: ({ metadata }) => {
        actors.push(metadata['actor']);
        return Promise.resolve();
      },
      countRefusal: () => undefined,
    };
    const ports: Ports = { ...asking('admin'), accessLog };
    ports.providerAuthorizations.take = () => Promise.resolve({ request, proof: null });
    const sealClient = (id: string) => ports.personal.seal(id, '{}');
    const answer = { state: 's', parameters: { error: 'access_denied' }, sealClient };
    expect(await rejection(finishAuthorization(ports, answer))).to.include({ code: 'mailbox_auth_failed' });
    expect(actors).to.have.length(1);
    expect(actors[0]).to.include({ id: 'usr_1', token_id: null, session_id: 'ses_1' });
  });
});
