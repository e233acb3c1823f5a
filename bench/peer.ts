/** The figures of the peer: measured once beside the gateway and raw ImapFlow, kept as plain numbers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { PeerFigure } from './figures.ts';

const Measured = z.strictObject({
  p50: z.number().optional(),
  p99: z.number().optional(),
  perSecond: z.number().optional(),
  cpu: z.number().optional(),
});
const Peer = z.strictObject({
  name: z.string(),
  about: z.string(),
  operations: z.record(
    z.string(),
    z.strictObject({ raw: Measured.optional(), peer: Measured, gateway: Measured }),
  ),
});
export type Peer = z.output<typeof Peer>;

export const readPeer = (): Peer =>
  Peer.parse(JSON.parse(readFileSync(join(import.meta.dirname, 'peer.json'), 'utf8')));

/** NaN where that was not measured. Throws for an operation that the file does not have. */
export function peerValue(peer: Peer, { operation, what }: PeerFigure): number {
  const measured = peer.operations[operation];
  if (measured === undefined) throw new Error(`There is no figure of the peer for "${operation}".`);
  const { p50 = Number.NaN } = measured.peer;
  const { p50: rawP50 = Number.NaN } = measured.raw ?? {};
  switch (what) {
    case 'peer − raw':
      return p50 - rawP50;
    case 'peer ÷ raw':
      return p50 / rawP50;
    case 'raw ÷ peer':
      return rawP50 / p50;
    default:
      return measured.peer[what] ?? Number.NaN;
  }
}
