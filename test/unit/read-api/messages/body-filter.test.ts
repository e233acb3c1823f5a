import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { MailPort } from '../../../../commands/ports/mail-port.ts';
import type { MailboxScope } from '../../../../commands/values/scopes.ts';
import { queryEmail } from '../../../../read-api/email/query-email.ts';
import { type OperationRig, operationRig } from '../../../support/worlds/operation-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const WORD = { body_contains: 'secret' };
const FILTERS = [WORD, { not: WORD }, { any: [{ seen: true }, { all: [WORD] }] }];

/** A rig with an empty mailbox, and the recorded reads. */
function recording(...scopes: readonly MailboxScope[]): {
  readonly rig: OperationRig;
  readonly reads: object[];
} {
  const rig = operationRig({ scopes });
  const reads: object[] = [];
  rig.ports.accessLog.record = ({ type, data }) => {
    if (type === 'BodiesRead') reads.push(data);
    return Promise.resolve();
  };
  const query: MailPort['query'] = () =>
    Promise.resolve({ messages: [], next: null, evaluatedBy: 'mail_server', count: 0, asOf: 0n });
  rig.ports.mail.query = query;
  return { rig, reads };
}

const acting = (filter: object) => ({
  operation: { type: 'message_actions', select: { filter }, actions: [{ type: 'trash' }] },
  cardinality: { max: 9 },
});

describe('a filter on message text', () => {
  it(`requires messages:body anywhere in the filter ${verifies('contract:3:body-filter')}`, async () => {
    const { rig } = recording('messages:read', 'messages:trash');
    for (const filter of FILTERS) {
      const refused = {
        code: 'insufficient_scope',
        details: { required: ['messages:body'] },
      };
      const query = { select: { filter }, view: 'count' };
      expect(await rejection(rig.invoke(queryEmail, query, null))).to.deep.include(refused);
      expect(await rejection(rig.invoke(actOnEmail, acting(filter)))).to.deep.include(refused);
    }
    await rig.invoke(queryEmail, { select: { filter: { seen: true } }, view: 'count' }, null);
  });

  it(`is recorded as a read, even when nothing matches ${verifies('contract:3:body-filter')}`, async () => {
    const { rig, reads } = recording('messages:read', 'messages:body', 'messages:trash');
    await rig.invoke(queryEmail, { select: { filter: { seen: true } }, view: 'count' }, null);
    expect(reads).to.deep.equal([]);
    await rig.invoke(queryEmail, { select: { filter: WORD }, view: 'count' }, null);
    expect(reads).to.have.length(1);
    expect(reads[0]).to.deep.include({ mailbox_id: 'mbx_0', what: 'text', message_ids: [] });
    expect(await rejection(rig.invoke(actOnEmail, acting({ not: WORD })))).to.include({
      code: 'cardinality_violation',
    });
    expect(reads).to.have.length(2);
  });
});
