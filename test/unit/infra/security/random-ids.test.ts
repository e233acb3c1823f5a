import { expect } from 'chai';
import { createIds } from '../../../../infra/security/random-ids.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('createIds', () => {
  const clock = new ManualClock();
  const key = randomKey();
  const ids = createIds(key, clock);

  it(`creates random ids ordered by time ${verifies('contract:1:random-ids')}`, () => {
    const made = Array.from({ length: 100 }, () => {
      clock.advance(1);
      return ids.newId('opn');
    });
    expect(new Set(made).size).to.equal(100);
    expect([...made].sort()).to.deep.equal(made);
    for (const id of made) expect(id).to.match(/^opn_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(ids.newUuid()).not.to.equal(ids.newUuid());
  });

  it(`derives ids from an Idempotency-Key within organisation and principal ${verifies('contract:1:id-from-key', 'contract:14:key-scope')}`, () => {
    const id = ids.idForKey('opn', 'org_1', 'usr_1', 'k');
    expect(createIds(key, clock).idForKey('opn', 'org_1', 'usr_1', 'k')).to.equal(id);
    const others = [
      ids.idForKey('opn', 'org_2', 'usr_1', 'k'),
      ids.idForKey('opn', 'org_1', 'usr_2', 'k'),
      ids.idForKey('opn', 'org_1', 'usr_1', 'K'),
      createIds(randomKey(), clock).idForKey('opn', 'org_1', 'usr_1', 'k'),
    ];
    expect(new Set([id, ...others]).size).to.equal(5);
  });

  it('creates nonces of 128 bits', () => {
    expect(ids.newNonce()).to.match(/^[0-9a-f]{32}$/);
    expect(ids.newNonce()).not.to.equal(ids.newNonce());
  });

  it('names a reservation without revealing what it reserves', () => {
    const name = ids.reservationName('ann@example.com');
    expect(name).to.match(/^[0-9a-f]{64}$/);
    expect(ids.reservationName('ann@example.com')).to.equal(name);
    expect(ids.reservationName('bob@example.com')).not.to.equal(name);
  });
});
