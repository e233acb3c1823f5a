/** Checkpoints that callers ask for: each may be a signature and a webhook, so an organisation has ten a minute. */
import type { Ports } from '../../commands/ports/ports.ts';
import type { Seals } from '../../commands/ports/trails.ts';

type Used = Pick<Ports, 'attempts' | 'seals'>;

/** Throws `rate_limited`. */
export async function countSealing({ attempts }: Pick<Used, 'attempts'>, trail: string): Promise<void> {
  await attempts.attempt({ account: `audit checkpoints of ${trail}`, source: null }, () =>
    Promise.resolve({}),
  );
}

/** Counts what needs a new checkpoint, and only that. Throws `rate_limited` and `seal_behind`. */
export const countedSeals = (ports: Used): Pick<Seals, 'sealNow'> => ({
  sealNow: async (trail, atLeast) => {
    if (await ports.seals.isSealed(trail, atLeast)) return;
    await countSealing(ports, trail);
    await ports.seals.sealNow(trail, atLeast);
  },
});
