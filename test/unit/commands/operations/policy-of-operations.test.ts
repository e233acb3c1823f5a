import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { PolicyEntry } from '../../../../commands/ports/directory.ts';
import { moveMessages } from '../../../../commands/messages/act-on-messages.ts';
import { type OperationRig, operationRig } from '../../../support/worlds/operation-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';

/** A rig whose organisation has these rules, as version 4. */
function under(...rules: readonly unknown[]): OperationRig {
  const rig = operationRig();
  const entry = policyEntry(rules, { version: 4 });
  (rig.ports.directory.state.policies as Map<string, PolicyEntry>).set(entry.id, entry);
  return rig;
}

const acting = (messageIds: readonly string[], ...types: readonly string[]) => ({
  operation: {
    type: 'message_actions',
    select: { message_ids: messageIds },
    actions: types.map((type) => (type === 'set_flags' ? { type, seen: true } : { type })),
  },
});

describe("an organisation's policy on operations", () => {
  it(`decides on every action and on the number of messages ${verifies('contract:8:strictest', 'contract:8:names-rule')}`, async () => {
    const rig = under({
      id: 'bulk',
      when: { actions: ['trash'], bulk_count: { min: 2 } },
      then: { decision: 'deny' },
    });
    const ids = [rig.arrive('INBOX'), rig.arrive('INBOX')];
    const refused = await rejection(rig.invoke(actOnEmail, acting(ids, 'set_flags', 'trash')));
    const policy = { decision: 'deny', rule_id: 'bulk', version: 4 };
    expect(refused).to.deep.include({ code: 'policy_denied', details: { policy } });
    expect(rig.mailbox.effects).to.deep.equal([]);
    const preview = await rig.reply(
      actOnEmail,
      { ...acting(ids, 'trash'), authorization: { mode: 'preview' } },
      null,
    );
    expect(preview.preview?.policy).to.deep.equal(policy);
    const one = await rig.reply(actOnEmail, acting(ids.slice(0, 1), 'trash'));
    expect(one.summary).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
    const decided = (await rig.events.readStream(`operation-${one.operation_id ?? ''}`))[1];
    expect(decided?.data).to.deep.equal({
      decision: 'allow',
      rule_id: 'default.reversible',
      policy_version: 4,
    });
  });

  it(`applies to the direct tools, and answers approval_required ${verifies('contract:6:approval-required')}`, async () => {
    const rig = under({ id: 'moves', when: { actions: ['move'] }, then: { decision: 'require', quorum: 2 } });
    const message_ids = [rig.arrive('INBOX')];
    const refused = await rejection(rig.invoke(moveMessages, { message_ids, folder: 'archive' }));
    expect(refused).to.deep.include({
      code: 'approval_required',
      details: { policy: { decision: 'require', rule_id: 'moves', version: 4 } },
    });
    expect(rig.mailbox.effects).to.deep.equal([]);
  });
});
