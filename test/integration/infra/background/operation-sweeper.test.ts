import { expect } from 'chai';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { loadAggregate } from '../../../../commands/kernel/decide-and-append.ts';
import { operation } from '../../../../commands/operations/operation.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { operations } from '../../../../projections/operations.ts';
import { happened } from '../../../support/samples/event-author.ts';
import { runNamedSweepers } from '../../../support/worlds/named-sweepers.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { type OperationRig, operationRig } from '../../../support/worlds/operation-rig.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { openRig } from '../projector/projector-rig.ts';

describe('the operation sweeper', () => {
  let rig: OperationRig;

  /** An operation whose process died before it did anything. */
  const cutOff = async (operationId: string, mailboxNumber: number): Promise<void> => {
    const { ports, mailbox } = rig;
    const { uidValidity } = mailbox.folder('INBOX');
    const message_id = ports.locators.message({ mailboxNumber, folderNumber: 1, uidValidity, uid: 7 });
    await happened(ports.events, `operation-${operationId}`, [
      {
        type: 'OperationSubmitted',
        data: {
          ...SAMPLE_EVENTS.OperationSubmitted,
          mailbox_id: `mbx_${String(mailboxNumber)}`,
          targets: [{ message_id, stale: false }],
          rfc_message_ids: { clear: ['<7@example.com>'] },
        },
      },
      { type: 'OperationDecided', data: SAMPLE_EVENTS.OperationDecided },
      { type: 'ActionsIntended', data: SAMPLE_EVENTS.ActionsIntended },
    ]);
  };
  const isSettled = async (operationId: string): Promise<boolean> =>
    (await loadAggregate(rig.ports.events, operation, operationId)).state.results !== null;

  it('continues with other mailboxes when the server of one hangs', async () => {
    await using home = await openRig();
    rig = operationRig();
    const { ports } = rig;
    const projector = await home.start({ events: ports.events, projections: [operations] });
    for (let at = 0; at < 120; at += 1) await cutOff(`opn_slow_${String(at)}`, 0);
    await cutOff('opn_quick', 1);
    await projector.readModels.waitFor(await ports.events.headPosition(), 3_000);
    const hanging = Promise.withResolvers<undefined>();
    const within = ports.mail.withMailbox.bind(ports.mail);
    let open = 0;
    ports.mail.withMailbox = async (mailboxId, lane, work) => {
      open += mailboxId === 'mbx_0' ? 1 : 0;
      if (mailboxId === 'mbx_0') await hanging.promise;
      return await within(mailboxId, lane, work);
    };
    const stopping = new AbortController();
    const running: Ports = { ...ports, sql: home.sql, clock: systemClock };
    const ended = runNamedSweepers(running, ['operations'], stopping.signal);
    await eventually(() => isSettled('opn_quick'));
    expect(open, 'one at a time where the server hangs').to.equal(1);
    expect(await isSettled('opn_slow_0')).to.equal(false);
    hanging.resolve(undefined);
    await eventually(() => isSettled('opn_slow_0'));
    stopping.abort();
    await ended;
  });
});
