import { expect } from 'chai';
import type { PolicyEntry, TokenEntry } from '../../../../commands/ports/directory.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import { dyingAfter } from '../../../support/fakes/dying-ports.ts';
import { LATER_AT_ENVELOPE } from '../../../support/fakes/fake-submission.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { becomingCurrent, OUTDATED, SendRig } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';

const KEY = 'key-1';
const MINUTE_MS = 60_000;

const policyOf = (decision: string, more: object = {}): PolicyEntry =>
  policyEntry([{ id: 'all', when: {}, then: { decision, ...more } }], { version: 2 });

const policies = (rig: SendRig) => rig.ports.directory.state.policies as Map<string, PolicyEntry>;

/** Sends that the gateway continues automatically. */
const WAITING: readonly (readonly [title: string, wait: (rig: SendRig, id: string) => Promise<unknown>])[] = [
  ['waits for its undo delay', (rig, id) => rig.send(id, KEY)],
  [
    'waits for another attempt',
    async (rig, id) => {
      policies(rig).set('org_1', policyOf('allow'));
      rig.submission.course = LATER_AT_ENVELOPE;
      await rejection(rig.send(id, KEY));
      rig.submission.course = { kind: 'accept' };
    },
  ],
  [
    'was interrupted before its draft recorded it',
    (rig, id) => rejection(rig.send(id, KEY, { ports: dyingAfter(rig.ports, /^SendIntended$/) })),
  ],
];

/** What the requester loses, and the error with which the send ends. */
const CHANGES: readonly (readonly [title: string, code: string, change: (rig: SendRig) => void])[] = [
  [
    'the token was revoked',
    'insufficient_scope',
    ({ ports }) => {
      const tokens = ports.directory.state.tokens as Map<string, TokenEntry>;
      for (const [id, token] of tokens) tokens.set(id, { ...token, revokedAt: '2026-03-01T12:00:00.000Z' });
    },
  ],
  [
    'the grant was taken away',
    'insufficient_scope',
    ({ ports }) => {
      const { grantIds, mailboxIdsByPrincipal, grants } = ports.directory.state;
      for (const all of [grantIds, mailboxIdsByPrincipal, grants]) (all as Map<string, unknown>).clear();
    },
  ],
  ['policy denies it', 'policy_denied', (rig) => policies(rig).set('org_1', policyOf('deny'))],
  ['policy requires approval', 'policy_denied', (rig) => policies(rig).set('org_1', policyOf('require'))],
];

describe('a direct send that waits', () => {
  for (const [waits, wait] of WAITING) {
    for (const [since, code, change] of CHANGES) {
      it(`ends without sending when it ${waits} and ${since} ${verifies('contract:2:revocation')}`, async () => {
        const rig = new SendRig({ kind: 'agent', policy: policyOf('allow', { undo_seconds: 60 }) });
        const id = await rig.startDraft();
        const operationId = rig.operationId(KEY);
        await wait(rig, id);
        change(rig);
        rig.parts.clock.advance(MINUTE_MS);
        await settleSend(rig.newRun(), { operationId, orgId: 'org_1' });
        expect(rig.submission.taken).to.deep.equal([]);
        const { send } = await rig.operation(operationId);
        expect(send?.outcome).to.deep.include({ outcome: 'failed' });
        expect(send?.outcome?.error?.code).to.equal(code);
        expect(['open', 'send_failed']).to.include((await rig.draft(id)).status);
        const written = await rig.ports.events.readAll(-1n, 100);
        expect(written.map(({ type }) => type)).to.include('QuotaGivenBack');
      });
    }
  }

  it(`stays unsent when the directory of this process is outdated, until it is current ${verifies('contract:2:revocation')}`, async () => {
    const rig = new SendRig({ kind: 'agent', policy: policyOf('allow', { undo_seconds: 60 }) });
    const open = { operationId: rig.operationId(KEY), orgId: 'org_1' };
    await rig.send(await rig.startDraft(), KEY);
    rig.parts.clock.advance(MINUTE_MS);
    const stale = { ...rig.newRun(), directory: { ...rig.ports.directory, ...OUTDATED } };
    expect(await rejection(settleSend(stale, open))).to.include({ code: 'store_unavailable' });
    expect(rig.submission.taken).to.deep.equal([]);
    await settleSend({ ...rig.newRun(), directory: becomingCurrent(rig.ports.directory) }, open);
    expect(rig.submission.taken).to.have.length(1);
  });
});
