import { expect } from 'chai';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { reserveMailboxNumber } from '../../../../commands/mailboxes/mailbox-number.ts';
import { memoryPorts } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const BLOCK = 2 ** 20;

describe('reserveMailboxNumber', () => {
  /** Ports of an installation whose directory knows these highest numbers by block. */
  const portsWith = (mailboxNumberBlock: number, highest: readonly [number, number][]): Ports => {
    const { ports } = memoryPorts();
    const state = { ...ports.directory.state, highestMailboxNumbers: new Map(highest) };
    return {
      ...ports,
      directory: { ...ports.directory, state },
      server: { ...ports.server, mailboxNumberBlock },
    };
  };
  const reserve = (ports: Ports, mailboxId = 'mbx_1'): Promise<number> =>
    reserveMailboxNumber(ports, systemAuthor(ports, 'org_1'), mailboxId);

  it(`starts with 1 in the first block, and continues after taken numbers ${verifies('contract:1:number-block')}`, async () => {
    expect(await reserve(portsWith(0, []))).to.equal(1);
    expect(await reserve(portsWith(0, [[0, 250_000]]))).to.equal(250_001);
  });

  it(`counts per block, so that installations with shared keys use different numbers ${verifies('contract:1:number-block')}`, async () => {
    const ports = portsWith(3, [[0, 250_000]]);
    expect(await reserve(ports)).to.equal(3 * BLOCK + 1);
    expect(await reserve(ports, 'mbx_2')).to.equal(3 * BLOCK + 2);
    expect(await reserve(portsWith(2_047, []))).to.be.below(2 ** 31);
  });

  it('is refused when the block is full', async () => {
    const full = portsWith(0, [[0, BLOCK - 1]]);
    expect(await rejection(reserve(full))).to.include({ code: 'overloaded' });
  });
});
