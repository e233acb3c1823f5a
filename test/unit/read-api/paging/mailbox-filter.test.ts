import { expect } from 'chai';
import type { Context } from '../../../../commands/kernel/capability.ts';
import { mailboxFilter } from '../../../../read-api/paging/page.ts';
import { thrown } from '../../../support/suite/thrown.ts';

describe('mailboxFilter', () => {
  const context = {
    caller: { org: { id: 'org_1' } },
    ports: {
      directory: {
        state: {
          mailboxes: new Map([
            ['mbx_1', { orgId: 'org_1' }],
            ['mbx_2', { orgId: 'org_2' }],
          ]),
        },
      },
    },
  } as unknown as Context;

  it('accepts one mailbox of the organisation, or none', () => {
    expect(mailboxFilter(context, undefined)).to.equal(null);
    expect(mailboxFilter(context, 'mbx_1')).to.equal('mbx_1');
  });

  it('reports not_found when the mailbox is unknown or of another organisation', () => {
    for (const id of ['mbx_2', 'mbx_3'])
      expect(thrown(() => mailboxFilter(context, id))).to.include({ code: 'not_found' });
  });
});
