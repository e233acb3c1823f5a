import { join } from 'node:path';
import { expect } from 'chai';
import { BROKEN_REASONS } from '../../../../commands/audit/seal-events.ts';

interface Words {
  readonly badge: { readonly label: string; readonly tone: string };
  readonly reasons: readonly string[];
  readonly sealedThrough: number;
  readonly outside: readonly { readonly name: string; readonly at: string }[];
}
interface Wording {
  readonly sealWords: (facts: object) => Words;
}

const at = (hour: number, day = 20): string =>
  `2026-11-${String(day)}T${String(hour).padStart(2, '0')}:00:00.000Z`;
const checkpoint = (size: number, sealedAt: string, ...anchors: readonly object[]) => ({ size, sealed_at: sealedAt, anchors }); // prettier-ignore
const confirmed = (name: string, when: string) => ({ kind: 'webhook', name, state: 'confirmed', at: when });
const verified = (when: string | null) => ({ verified_at: when, broken: null, epoch: 2, stopped: null });
const found = (reason: string, epoch = 2) => ({ ...verified(at(3)), broken: { size: 9, reason, epoch } });
const stopped = (reason: string) => ({ ...verified(at(3)), stopped: reason });
const line = (seq: number, when: string, data: object = {}) => ({ seq, occurred_at: when, data });

describe('words of the seal in the console', () => {
  let sealWords: Wording['sealWords'];
  before(async () => {
    const file = join(import.meta.dirname, '../../../../infra/console/audit-seal.js');
    ({ sealWords } = (await import(file)) as Wording);
  });

  const good = () => ({
    checkpoints: [checkpoint(90, at(12)), checkpoint(80, at(11), confirmed('archive', at(11)))],
    verification: verified(at(3)) as object,
    anchored: null as object | null,
  });

  it('is green once a checkpoint is held outside and the trail was checked', () => {
    const { badge, reasons, sealedThrough, outside } = sealWords(good());
    expect([badge.tone, reasons, sealedThrough]).to.deep.equal(['good', [], 90]);
    expect(outside.map(({ name }) => name)).to.deep.equal(['archive']);
  });

  it('is amber with the reason while none is held outside', () => {
    const { badge, reasons } = sealWords({ ...good(), checkpoints: [checkpoint(90, at(12))] });
    expect(badge.tone).to.equal('ask');
    expect(reasons).to.have.length(1);
    expect(reasons[0]).to.contain('Nobody outside holds a checkpoint');
  });

  it('is amber before the first seal and the first check', () => {
    const { badge, reasons } = sealWords({
      checkpoints: [],
      verification: verified(null),
      anchored: null,
    });
    expect([badge.tone, reasons.length]).to.deep.equal(['ask', 3]);
  });

  it('is amber when lines were added for two days without a check', () => {
    const late = { ...good(), checkpoints: [checkpoint(90, at(4, 22), confirmed('archive', at(4, 22)))] };
    expect(sealWords(late).badge.tone).to.equal('ask');
    expect(sealWords({ ...late, verification: verified(at(3, 21)) }).badge.tone, 'one day').to.equal('good');
  });

  it('says which place did not take the newest checkpoint', () => {
    const failed = { kind: 'file', name: 'worm', state: 'failed', at: at(12), error: { code: 'ENOSPC' } };
    const [first, ...others] = good().checkpoints;
    const { badge, reasons } = sealWords({
      ...good(),
      checkpoints: [{ ...first, anchors: [failed] }, ...others],
    });
    expect(badge.tone).to.equal('ask');
    expect(reasons.join()).to.contain('file worm (ENOSPC)');
  });

  it('takes the newest moment of each place, also from the trail', () => {
    const anchored = line(85, at(12), { kind: 'webhook', name: 'archive' });
    expect(sealWords({ ...good(), anchored }).outside).to.deep.equal([
      { kind: 'webhook', name: 'archive', at: at(12) },
    ]);
  });

  it('is red while nothing is signed after a broken seal, with words for every reason', () => {
    const told = BROKEN_REASONS.map((reason) => {
      const { badge, reasons } = sealWords({ ...good(), verification: stopped(reason) });
      expect(badge.tone, reason).to.equal('bad');
      return reasons[0];
    });
    expect(new Set(told).size).to.equal(BROKEN_REASONS.length);
    expect(told.join()).not.to.match(/_differs|log_is|note_missing|key_missing/);
  });

  it('is red when the last check found a break', () => {
    const verification = { ...found('root_differs'), stopped: 'root_differs' };
    const { badge, reasons } = sealWords({ ...good(), verification });
    expect([badge.tone, reasons[0]]).to.deep.equal(['bad', 'Nothing more is signed. Lines that were signed are not what they were.']); // prettier-ignore
    expect(reasons.join(), 'what to do, once').to.contain('begins a new epoch').and.not.to.contain('goes on');
  });

  it('says of a break found in an earlier epoch that signing continues', () => {
    const { badge, reasons } = sealWords({ ...good(), verification: found('root_differs', 1) });
    expect([badge.tone, reasons]).to.deep.equal([
      'ask',
      [
        'In an earlier epoch the last check found: Lines that were signed are not what they were. Signing continues, and the next check is about this epoch.',
      ],
    ]);
  });

  it('says of an index that was rebuilt since the last check that signing continues', () => {
    const { badge, reasons } = sealWords({ ...good(), verification: found('read_model') });
    expect(badge.tone).to.equal('ask');
    expect(reasons.join()).to.contain('signing continues').and.not.to.contain('Nothing more');
  });
});
