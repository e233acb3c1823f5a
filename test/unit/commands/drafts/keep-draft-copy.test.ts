import { expect } from 'chai';
import {
  type DraftCopies,
  type DraftCopy,
  keepDraftCopy,
} from '../../../../commands/drafts/keep-draft-copy.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { type HeldLease, LeaseLost } from '../../../../commands/kernel/hold-lease.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const DRAFTS = { number: 3, path: 'Drafts' };
const LEASE: HeldLease = { assertHeld: () => undefined, release: () => Promise.resolve() };

class MemoryCopies implements DraftCopies {
  noted: DraftCopy[] = [];
  of(draftId: string): Promise<readonly DraftCopy[]> {
    return Promise.resolve(this.noted.filter((copy) => copy.draftId === draftId));
  }
  note(_: string, copy: DraftCopy): Promise<void> {
    this.noted.push(copy);
    return Promise.resolve();
  }
  place({ messageId }: DraftCopy, uid: number): Promise<void> {
    this.noted = this.noted.map((copy) => (copy.messageId === messageId ? { ...copy, uid } : copy));
    return Promise.resolve();
  }
  forget({ messageId }: DraftCopy): Promise<void> {
    this.noted = this.noted.filter((copy) => copy.messageId !== messageId);
    return Promise.resolve();
  }
}

describe('keepDraftCopy', () => {
  let rig: SendRig;
  let copies: MemoryCopies;
  let id: string;
  const keep = (lease = LEASE): Promise<void> => keepDraftCopy(rig.ports, copies, id, lease);
  const uids = (): number[] => [...rig.mailbox.folder(DRAFTS.path).messages.keys()];

  beforeEach(async () => {
    rig = new SendRig({
      mailbox: { folders: [{ number: 1, path: 'INBOX' }, DRAFTS], detectedRoles: { inbox: 1, drafts: 3 } },
    });
    copies = new MemoryCopies();
    id = await rig.startDraft();
    rig.mailbox.add(DRAFTS.path, '<mine@example.com>', ['\\Draft']);
  });

  it('appends one copy per version, and removes only its own copies', async () => {
    await keep();
    await keep();
    expect(uids()).to.deep.equal([1, 2]);
    await rig.edit(id);
    await keep();
    expect(uids()).to.deep.equal([1, 3]);
    await rig.append(id, { type: 'DraftDiscarded', data: { reason: 'caller' } });
    await keep();
    expect([uids(), copies.noted]).to.deep.equal([[1], []]);
  });

  it('finds the copy after a crash between the append and its record', async () => {
    const place = copies.place.bind(copies);
    copies.place = () => Promise.reject(new Error('the process died'));
    await rejection(keep());
    copies.place = place;
    await keep();
    expect(uids(), 'not made twice').to.deep.equal([1, 2]);
    expect(copies.noted.map(({ uid }) => uid)).to.deep.equal([2]);
  });

  it('appends again when the first append failed', async () => {
    const append = rig.mailbox.append.bind(rig.mailbox);
    rig.mailbox.append = () => Promise.reject(new GatewayError('mailbox_unavailable', 'away'));
    await rejection(keep());
    rig.mailbox.append = append;
    await keep();
    expect(uids()).to.deep.equal([1, 2]);
    expect(copies.noted.map(({ uid }) => uid)).to.deep.equal([2]);
  });

  it('stops when the process has lost its lease, before or after the append', async () => {
    const lost = (): never => {
      throw new LeaseLost('draft-copy');
    };
    expect(await rejection(keep({ ...LEASE, assertHeld: lost }))).to.be.instanceOf(LeaseLost);
    expect(uids()).to.deep.equal([1]);
    await keep();
    await rig.edit(id);
    let asked = 0;
    const afterAppend = (): void => {
      asked += 1;
      if (asked > 1) lost();
    };
    expect(await rejection(keep({ ...LEASE, assertHeld: afterAppend }))).to.be.instanceOf(LeaseLost);
    expect(uids(), 'and takes no older one away').to.deep.equal([1, 2, 3]);
  });

  it('forgets a copy that another client removed, or whose folder was recreated', async () => {
    await keep();
    rig.mailbox.folder(DRAFTS.path).messages.delete(2);
    await rig.edit(id);
    await keep();
    expect(copies.noted.map(({ version }) => version)).to.deep.equal([2]);
    const folder = rig.mailbox.folder(DRAFTS.path);
    const madeAnew: { uidValidity: number } = folder;
    madeAnew.uidValidity += 1;
    await rig.append(id, { type: 'DraftDiscarded', data: { reason: 'caller' } });
    await keep();
    expect(copies.noted).to.deep.equal([]);
    expect(uids(), 'what has the number of a copy is none').to.deep.equal([1, 3]);
  });

  it('does nothing without a Drafts folder or UIDPLUS', async () => {
    Object.assign(rig.mailbox.capabilities, { uidPlus: false });
    await keep();
    const without = new SendRig();
    id = await without.startDraft();
    await keepDraftCopy(without.ports, copies, id, LEASE);
    expect([uids(), copies.noted]).to.deep.equal([[1], []]);
  });
});
