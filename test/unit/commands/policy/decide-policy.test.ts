import { expect } from 'chai';
import type { ActorKind } from '../../../../commands/kernel/access.ts';
import {
  type Policy,
  POLICY_ACTIONS,
  type PolicyAction,
} from '../../../../commands/values/policy-document.ts';
import { BUILT_IN_POLICY } from '../../../../commands/policy/built-in-policy.ts';
import { compareStrictness, decidePolicy } from '../../../../commands/policy/decide-policy.ts';
import type { PolicyFacts } from '../../../../commands/policy/decide-policy.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';

const acting = (actor: ActorKind, ...actions: readonly PolicyAction[]): PolicyFacts => ({
  actions,
  actor,
  mailboxId: 'mbx_1',
  principalId: 'usr_1',
  bulkCount: 1,
  send: null,
});

const sending = (actor: ActorKind, ...domains: readonly string[]): PolicyFacts => ({
  ...acting(actor, 'send'),
  send: {
    recipients: domains.map((domain) => ({
      domain,
      external: domain !== 'own.example',
      firstContact: true,
    })),
    attachments: [],
  },
});

/** The policy as in a file, with the defaults filled in. */
const policyOf = (rules: readonly unknown[], own: Policy['default'] = null): Policy =>
  policyEntry(rules, { version: 3, default: own });

const told = (policy: Policy, facts: PolicyFacts): string => {
  const { decision, ruleId, version } = decidePolicy(policy, facts);
  return `${decision} by ${ruleId} of ${String(version)}`;
};

const REVERSIBLE = POLICY_ACTIONS.filter((action) => action !== 'send' && action !== 'expunge');

describe('decidePolicy with the built-in policy', () => {
  it(`allows a person everything ${verifies('contract:8:default')}`, () => {
    for (const action of POLICY_ACTIONS) {
      expect(told(BUILT_IN_POLICY, acting('person', action))).to.equal('allow by default.person of 0');
    }
  });

  it(`requires one approver for irreversible actions when no person acts ${verifies('contract:8:default')}`, () => {
    for (const actor of ['agent', 'delegated', 'system'] as const) {
      for (const action of ['send', 'expunge'] as const) {
        const decision = decidePolicy(BUILT_IN_POLICY, acting(actor, action));
        expect(decision).to.include({ decision: 'require', ruleId: 'default.irreversible', version: 0 });
        expect(decision.terms).to.include({ quorum: 1, approver_role: 'approver', exclude_owner: false });
        expect(decision.terms).to.include({ decision_ttl: 86_400, commit_ttl: 3_600 });
      }
      for (const action of REVERSIBLE) {
        expect(told(BUILT_IN_POLICY, acting(actor, action))).to.equal('allow by default.reversible of 0');
      }
    }
  });
});

describe("decidePolicy with an organisation's policy", () => {
  const allowMoves = { id: 'moves', when: { actions: ['move'] }, then: { decision: 'allow' } };

  it(`applies the first rule that matches, and names it and its version ${verifies('contract:8:first-match', 'contract:8:names-rule')}`, () => {
    const policy = policyOf([
      allowMoves,
      { id: 'later', when: { actions: ['move'] }, then: { decision: 'require' } },
    ]);
    expect(told(policy, acting('agent', 'move'))).to.equal('allow by moves of 3');
  });

  it(`denies when any rule denies, even after an earlier match ${verifies('contract:8:deny-wins')}`, () => {
    const policy = policyOf([
      allowMoves,
      { id: 'box', when: { mailbox_ids: ['mbx_1'] }, then: { decision: 'deny' } },
    ]);
    expect(told(policy, acting('agent', 'move'))).to.equal('deny by box of 3');
    expect(told(policy, { ...acting('agent', 'move'), mailboxId: 'mbx_2' })).to.equal('allow by moves of 3');
  });

  it(`falls back to the policy's own default, else to the built-in policy ${verifies('contract:8:own-default')}`, () => {
    expect(told(policyOf([allowMoves]), acting('agent', 'send'))).to.equal(
      'require by default.irreversible of 3',
    );
    const strict = policyOf([allowMoves], { decision: 'deny' });
    expect(told(strict, acting('person', 'trash'))).to.equal('deny by default of 3');
    expect(told(strict, acting('person', 'move'))).to.equal('allow by moves of 3');
  });

  it(`applies rules for agents to delegated callers unless a rule names those ${verifies('contract:2:delegated-policy')}`, () => {
    const ofAgents = {
      id: 'agents',
      when: { actors: ['agent'], actions: ['send'] },
      then: { decision: 'deny' },
    };
    const named = {
      id: 'delegated',
      when: { actors: ['delegated'], recipient_domains: ['own.example'] },
      then: { decision: 'allow' },
    };
    expect(told(policyOf([ofAgents]), sending('delegated', 'own.example'))).to.equal('deny by agents of 3');
    const both = policyOf([ofAgents, named]);
    expect(told(both, sending('delegated', 'own.example'))).to.equal('allow by delegated of 3');
    expect(told(both, sending('delegated', 'other.example'))).to.equal('deny by agents of 3');
    expect(told(both, sending('agent', 'own.example'))).to.equal('deny by agents of 3');
    expect(told(both, sending('person', 'own.example'))).to.equal('allow by default.person of 3');
  });

  it(`applies the strictest decision over several actions, recipients and attachments ${verifies('contract:8:strictest')}`, () => {
    const policy = policyOf([
      { id: 'inside', when: { recipient_domains: ['own.example'] }, then: { decision: 'allow' } },
      {
        id: 'programs',
        when: { attachment_types: ['application/x-msdownload'] },
        then: { decision: 'deny' },
      },
      { id: 'trash', when: { actions: ['trash'] }, then: { decision: 'require', quorum: 2 } },
    ]);
    expect(told(policy, sending('agent', 'own.example'))).to.equal('allow by inside of 3');
    const both = sending('agent', 'own.example', 'other.example');
    expect(told(policy, both)).to.equal('require by default.irreversible of 3');
    const { recipients = [] } = sending('agent', 'own.example').send ?? {};
    const attachments = [
      { contentType: 'image/png', size: 10 },
      { contentType: 'application/x-msdownload', size: 10 },
    ];
    const withProgram = { ...acting('agent', 'send'), send: { recipients, attachments } };
    expect(told(policy, withProgram)).to.equal('deny by programs of 3');
    expect(told(policy, acting('agent', 'move', 'trash'))).to.equal('require by trash of 3');
  });

  it(`combines the requirements of two recipients ${verifies('contract:8:strictest')}`, () => {
    const rule = (id: string, domain: string, terms: object) => ({
      id,
      when: { recipient_domains: [domain] },
      then: { decision: 'require', ...terms },
    });
    const policy = policyOf([
      rule('bank', 'bank.example', { approver_role: 'owner', exclude_owner: true, decision_ttl: 60 }),
      rule('partner', 'partner.example', { quorum: 2, auto_commit: true }),
    ]);
    const { terms, ruleId } = decidePolicy(policy, sending('agent', 'bank.example', 'partner.example'));
    expect(ruleId).to.equal('partner');
    expect(terms).to.include({ quorum: 2, approver_role: 'owner', exclude_owner: true, decision_ttl: 60 });
    expect(terms?.auto_commit, 'the bank leaves it to the mode').to.equal(undefined);
  });

  it(`orders requirements by quorum, approver and excluded owner ${verifies('contract:8:strictest')}`, () => {
    const require = (terms: object) =>
      decidePolicy(
        policyOf([{ id: 'r', when: {}, then: { decision: 'require', ...terms } }]),
        acting('agent', 'move'),
      );
    const ordered = [
      decidePolicy(policyOf([allowMoves]), acting('agent', 'move')),
      require({}),
      require({ exclude_owner: true }),
      require({ approver_role: 'admin' }),
      require({ approver_role: 'owner' }),
      require({ quorum: 2 }),
      decidePolicy(policyOf([], { decision: 'deny' }), acting('agent', 'move')),
    ];
    ordered.forEach((a, i) => {
      ordered.forEach((b, j) => {
        expect(Math.sign(compareStrictness(a, b))).to.equal(Math.sign(i - j));
      });
    });
  });

  it('matches domains below a domain, groups of content types, and counts', () => {
    const rule = (when: object) => policyOf([{ id: 'r', when, then: { decision: 'deny' } }]);
    const says = (when: object, facts: PolicyFacts) => decidePolicy(rule(when), facts).decision;
    expect(says({ recipient_domains: ['*.own.example'] }, sending('person', 'mail.own.example'))).to.equal(
      'deny',
    );
    expect(says({ recipient_domains: ['*.own.example'] }, sending('person', 'own.example'))).to.equal(
      'allow',
    );
    expect(says({ recipient_domains: ['*.own.example'] }, sending('person', 'notown.example'))).to.equal(
      'allow',
    );
    const image = sending('person', 'own.example');
    const withImage = {
      ...image,
      send: { recipients: [], ...image.send, attachments: [{ contentType: 'image/png', size: 100 }] },
    };
    expect(says({ attachment_types: ['image/*'] }, withImage)).to.equal('deny');
    expect(says({ attachment_types: ['image/*'], attachment_size: { max: 99 } }, withImage)).to.equal(
      'allow',
    );
    expect(says({ attachment_types: ['*/*'] }, image)).to.equal('allow');
    expect(says({ recipient_count: { min: 2 } }, sending('person', 'a.example'))).to.equal('allow');
    expect(says({ recipient_count: { min: 2 } }, sending('person', 'a.example', 'a.example'))).to.equal(
      'deny',
    );
    expect(says({ recipient_count: { max: 5 } }, acting('person', 'move'))).to.equal('allow');
    expect(says({ bulk_count: { min: 10 } }, { ...acting('person', 'move'), bulkCount: 10 })).to.equal(
      'deny',
    );
    expect(says({ first_contact: true }, sending('person', 'own.example'))).to.equal('deny');
    expect(says({ external_recipient: true }, sending('person', 'own.example', 'x.example'))).to.equal(
      'deny',
    );
    expect(says({ principal_ids: ['usr_2'] }, acting('person', 'move'))).to.equal('allow');
  });

  it(`evaluates each recipient and each attachment, not each pair of them ${verifies('contract:8:recipients')}`, () => {
    const looks = { count: 0 };
    const counted = (domain: string) => ({
      get recipient_domains() {
        looks.count += 1;
        return [domain];
      },
    });
    const rules = Array.from({ length: 200 }, (_, at) => ({
      id: `rule-${String(at)}`,
      when: counted(`d${String(at)}.example`),
      then: { decision: 'allow' as const },
    }));
    const facts = sending('agent', ...Array.from({ length: 100 }, (_, at) => `x${String(at)}.example`));
    const attachments = Array.from({ length: 500 }, (_, size) => ({ contentType: 'image/png', size }));
    const send = { recipients: [], ...facts.send, attachments };
    const policy = { ...policyOf([]), rules };
    expect(decidePolicy(policy, { ...facts, send })).to.include({ ruleId: 'default.irreversible' });
    expect(looks.count).to.be.below(50_000);
  });
});
