/** Seals and verifies the audit trails: one process at a time, others find the lease held. */
import { AnchorWriter } from '../audit/anchor-writer.ts';
import type { Sealer, SealPorts } from '../audit/sealer.ts';
import { SEAL_PROBE } from '../audit/read-trails.ts';
import { TrailVerifier, VERIFICATION_PROBE } from '../audit/trail-verifier.ts';
import { type Outcome, row, type Sweeper } from './run-sweeper.ts';

const SECOND = 1_000;
/** Of one pass; a long log is computed in several. */
const MOST_ROUNDS = 50;

export const auditSweepers = (ports: SealPorts, sealer: Sealer, signal: AbortSignal): readonly Sweeper[] => [
  sealSweeper(sealer),
  verifySweeper(new TrailVerifier(ports, sealer), signal),
  ...(sealer.anchors === null ? [] : [anchorSweeper(new AnchorWriter(ports, sealer.anchors))]),
];

const sealSweeper = (sealer: Sealer): Sweeper =>
  row({
    name: 'audit-seal',
    probe: SEAL_PROBE,
    everyMs: 5 * SECOND,
    atOnce: 1,
    pauses: { firstMs: SECOND, mostMs: 60 * SECOND },
    find: () => Promise.resolve(['round']),
    keyOf: (round) => round,
    settle: () => sealAll(sealer),
  });

const verifySweeper = (verifier: TrailVerifier, signal: AbortSignal): Sweeper =>
  row({
    name: 'audit-verify',
    probe: VERIFICATION_PROBE,
    everyMs: 5 * SECOND,
    atOnce: 1,
    pauses: { firstMs: 60 * SECOND, mostMs: 3_600 * SECOND },
    find: async () => ((await verifier.isDue()) ? ['all'] : []),
    keyOf: (all) => all,
    settle: async () => ((await verifier.verify(signal)) ? 'settled' : 'held'),
  });

const anchorSweeper = (writer: AnchorWriter): Sweeper =>
  row({
    name: 'audit-anchors',
    everyMs: 60 * SECOND,
    atOnce: 1,
    pauses: { firstMs: 60 * SECOND, mostMs: 3_600 * SECOND },
    find: () => Promise.resolve(['all']),
    keyOf: (all) => all,
    settle: async () => ((await writer.write()) ? 'settled' : 'held'),
  });

async function sealAll(sealer: Sealer): Promise<Outcome> {
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
    const end = await sealer.round();
    if (end !== 'more') return end === 'held' ? 'held' : 'settled';
  }
  return 'settled';
}
