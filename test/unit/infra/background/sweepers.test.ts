import { expect } from 'chai';
import { sweepersOf } from '../../../../infra/background/sweepers.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

describe('sweepersOf', () => {
  it('has unique names, and finds the mailbox of items that are limited by mailbox', () => {
    const rows = sweepersOf(new SendRig().ports);
    expect(new Set(rows.map(({ name }) => name)).size).to.equal(rows.length);
    for (const row of rows) {
      expect(row.mailboxOf !== undefined, row.name).to.equal(row.ofOneMailbox !== undefined);
    }
  });

  it('goes over all people once a minute at most', () => {
    const rows = sweepersOf(new SendRig().ports);
    expect(rows.find(({ name }) => name === 'account-erasures')?.everyMs).to.be.at.least(60_000);
  });

  it('erases the content of a discarded draft only', async () => {
    const rig = new SendRig();
    const [gone, kept] = [await rig.startDraft(), await rig.startDraft()];
    const bodyOf = async (id: string): Promise<string> => (await rig.draft(id)).current?.content_id ?? '';
    const sweeper = sweepersOf(rig.ports).find(({ name }) => name === 'draft-content');
    expect(await sweeper?.settle({ draftId: gone })).to.equal('settled');
    expect(await rig.ports.content.describe(await bodyOf(gone))).to.equal(null);
    expect(await rig.ports.content.describe(await bodyOf(kept))).not.to.equal(null);
  });

  it('erases the summaries of webhooks that are no longer kept', async () => {
    const { ports } = new SendRig();
    const asked: unknown[] = [];
    const query = (text: string, parameters?: readonly unknown[]) => {
      if (text.includes('vault.webhook_payload')) asked.push(parameters?.[0]);
      return Promise.resolve([]);
    };
    const rows = sweepersOf({ ...ports, sql: { ...ports.sql, query } as never });
    const now = ports.clock.now();
    await rows.find(({ name }) => name === 'expired-content')?.settle({ now });
    expect(asked).to.deep.equal([]);
    const sweeper = rows.find(({ name }) => name === 'webhook-leftovers');
    expect(sweeper?.everyMs).to.equal(3_600_000);
    await sweeper?.settle({ now });
    expect(asked).to.deep.equal([new Date(now.getTime() - 30 * 86_400_000)]);
  });
});
