import { expect } from 'chai';
import fc from 'fast-check';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import type { PolicyEffect } from '../../../../commands/values/policy-document.ts';
import { decidePolicy } from '../../../../commands/policy/decide-policy.ts';
import { readPolicyDocument, setPolicy } from '../../../../commands/policy/set-policy.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { simulatePolicy } from '../../../../read-api/policy/simulate-policy.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { policyArbitrary } from '../../../support/models/policy-arbitrary.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

interface Simulation {
  readonly decision: string;
  readonly rule_id: string;
  readonly version: number;
  readonly undo_seconds: number;
  readonly terms: object | null;
  readonly cases: readonly { readonly rule_id: string; readonly recipient: { domain: string } | null }[];
}

/** Allowed after an undo delay, which a policy accepts only for sends. */
const isHeldBack = (effect: PolicyEffect | null): boolean =>
  effect?.decision === 'allow' && effect.undo_seconds !== undefined;

describe('policy_simulate', () => {
  let gateway: MemoryGateway;
  let mailboxId: string;
  let owner: string;
  before(async () => {
    gateway = await startMemoryGateway();
    const nowhere = { host: 'imap.example.com', port: 993, security: 'tls' };
    const auth = { type: 'password', username: 'anna', password: 'secret' };
    const mailbox = { email: 'anna@own.example', imap: nowhere, smtp: nowhere, auth };
    mailboxId = (await gateway.call<{ id: string }>(createMailbox, mailbox)).id;
    owner = await gateway.signIn();
  });

  const simulate = async (operation: object, asked: object = {}) => {
    const input = { mailbox_id: mailboxId, operation, ...asked };
    return await gateway.call<Simulation>(simulatePolicy, input, { token: owner });
  };
  const acting = (...types: readonly string[]) => ({
    type: 'message_actions',
    select: { message_ids: ['msg_1', 'msg_2'] },
    actions: types.map((type) => (type === 'move' ? { type, folder: 'archive' } : { type })),
  });
  const sending = (...recipients: readonly string[]) => ({ type: 'send', recipients });
  const own = (id: string, when: object, then: object) => ({ id, when, then });

  it(`returns the decision of the policy in force for a caller ${verifies('contract:17:policy-simulate')}`, async () => {
    expect(await simulate(sending('bob@example.com'))).to.deep.include({
      decision: 'allow',
      rule_id: 'default.person',
      version: 0,
      terms: null,
      actor: 'person',
      principal_id: gateway.org.userId,
    });
    const byAgent = await simulate(sending('bob@example.com'), { principal_id: gateway.org.agentId });
    expect(byAgent).to.deep.include({
      decision: 'require',
      rule_id: 'default.irreversible',
      actor: 'agent',
      terms: {
        quorum: 1,
        approver_role: 'approver',
        exclude_owner: false,
        decision_ttl: 86_400,
        commit_ttl: 3_600,
        auto_commit: null,
      },
    });
    expect(await simulate(acting('archive'), { actor: 'delegated' })).to.deep.include({
      decision: 'allow',
      rule_id: 'default.reversible',
      actor: 'delegated',
      bulk_count: 2,
    });
  });

  it(`tests a policy that is not in force, and returns the rule that matched each case ${verifies('contract:17:policy-simulate')}`, async () => {
    const policy = {
      rules: [
        own('partners', { recipient_domains: ['partner.example'] }, { decision: 'allow', undo_seconds: 60 }),
        own('outside', { external_recipient: true }, { decision: 'require', quorum: 2, auto_commit: false }),
      ],
    };
    const before = gateway.events.all.length;
    const told = await simulate(sending('a@partner.example', 'b@else.example', 'anna@own.example'), {
      policy,
    });
    expect(told).to.deep.include({ decision: 'require', rule_id: 'outside', version: 1, undo_seconds: 60 });
    expect(told.terms).to.include({ quorum: 2, auto_commit: false });
    expect(told.cases.map(({ rule_id, recipient }) => [recipient?.domain, rule_id])).to.deep.equal([
      ['partner.example', 'partners'],
      ['else.example', 'outside'],
      ['own.example', 'outside'],
    ]);
    const inside = await simulate(sending('anna@own.example', 'b@else.example'), {
      policy: { ...policy, internal_domains: ['own.example'] },
    });
    expect(inside.cases.map(({ rule_id, recipient }) => [recipient?.domain, rule_id])).to.deep.equal([
      ['own.example', 'default.person'],
      ['else.example', 'outside'],
    ]);
    expect(gateway.events.all.length).to.equal(before);
  });

  it('decides as the policy itself', async () => {
    const ofHere = { mailbox_ids: [mailboxId], principal_ids: [gateway.org.agentId] };
    await fc.assert(
      fc.asyncProperty(
        policyArbitrary,
        fc.uniqueArray(fc.constantFrom('own.example', 'mail.own.example', 'other.example'), { minLength: 1 }),
        fc.subarray([
          { content_type: 'image/png', size: 50 },
          { content_type: 'application/pdf', size: 5 },
        ]),
        async ({ rules, default: own, internal_domains }, domains, attachments) => {
          const otherwise = isHeldBack(own) ? null : own;
          const here = rules.map(({ when, ...rule }) => ({
            ...rule,
            when: {
              ...(isHeldBack(rule.then) && { recipient_count: { min: 1 } }),
              ...when,
              ...(when.mailbox_ids && { mailbox_ids: ofHere.mailbox_ids }),
              ...(when.principal_ids && { principal_ids: ofHere.principal_ids }),
              ...(when.actions && { actions: [...new Set([...when.actions, 'send' as const])] }),
            },
          }));
          const candidate = { internal_domains: [...internal_domains], rules: here, default: otherwise };
          const policy = { ...candidate, version: 1, custom_headers: [] };
          const told = await simulate(
            { ...sending(...domains.map((domain) => `x@${domain}`)), attachments },
            { principal_id: gateway.org.agentId, policy: candidate },
          );
          const decided = decidePolicy(policy, {
            actions: ['send'],
            mailboxId,
            actor: 'agent',
            principalId: gateway.org.agentId,
            bulkCount: 1,
            send: {
              recipients: domains.map((domain) => ({
                domain,
                external: !internal_domains.includes(domain),
                firstContact: true,
              })),
              attachments: attachments.map(({ content_type, size }) => ({ contentType: content_type, size })),
            },
          });
          expect([told.decision, told.rule_id, told.undo_seconds]).to.deep.equal([
            decided.decision,
            decided.ruleId,
            decided.undoSeconds,
          ]);
          expect(told.cases.some(({ rule_id }) => rule_id === told.rule_id)).to.equal(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('counts the named messages, or the given number', async () => {
    const policy = { rules: [own('bulk', { bulk_count: { min: 100 } }, { decision: 'deny' })] };
    const all = { ...acting('trash'), select: { folder: 'inbox' } };
    expect(await simulate(all, { policy, bulk_count: 100 })).to.include({
      decision: 'deny',
      rule_id: 'bulk',
    });
    expect(await simulate(acting('trash'), { policy })).to.include({ decision: 'allow' });
    expect(await rejection(simulate(all))).to.include({ code: 'invalid_request' });
    expect(await rejection(simulate(sending('a@b.example'), { bulk_count: 2 }))).to.include({
      code: 'invalid_request',
    });
  });

  it('refuses unknown mailboxes, principals and members', async () => {
    const operation = acting('archive');
    for (const asked of [{ mailbox_id: 'mbx_none' }, { principal_id: 'usr_none' }]) {
      expect(await rejection(simulate(operation, asked))).to.include({ code: 'not_found' });
    }
    const agent = { principal_id: gateway.org.agentId, actor: 'person' };
    expect(await rejection(simulate(operation, agent))).to.include({ code: 'invalid_request' });
    const policy = { rules: [own('lost', { principal_ids: ['agt_none'] }, { decision: 'deny' })] };
    expect(await rejection(simulate(operation, { policy }))).to.deep.include({
      code: 'invalid_request',
      details: {
        issues: [
          {
            path: 'policy.rules.0.when.principal_ids.0',
            code: 'custom',
            message: 'Rule lost: There is no such id in this organisation.',
          },
        ],
      },
    });
    expect(await rejection(simulate({ type: 'draft_send', draft_id: 'drf_none' }))).to.include({
      code: 'not_found',
    });
  });

  it(`requires a person who may change the policy ${verifies('contract:3:policy-manage')}`, async () => {
    const input = { mailbox_id: mailboxId, operation: acting('archive') };
    expect(await rejection(gateway.call(simulatePolicy, input))).to.include({ code: 'insufficient_scope' });
  });

  it('names the version of a stored policy', async () => {
    const { ports, org } = gateway;
    const rules = [own('no', { actions: ['trash'] }, { decision: 'deny' })];
    const document = readPolicyDocument(ports.directory.state, org.orgId, { rules });
    await setPolicy(ports, systemAuthor(ports, org.orgId), org.orgId, document);
    expect(await simulate(acting('trash'))).to.include({ decision: 'deny', rule_id: 'no', version: 1 });
    expect(await simulate(acting('trash'), { policy: { rules: [] } })).to.include({ version: 2 });
  });
});
