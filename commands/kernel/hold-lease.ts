/** A lease for one task: two requests of this process exclude each other as two processes do. */
import type { Leases } from '../ports/leases.ts';

export interface HeldLease {
  /**
   * Called directly before every effect: throws `LeaseLost` once another process may have taken the lease, for example after
   * a long pause of this process.
   */
  assertHeld(): void;
  /** By `giveUp`, if given: a statement that also does something else. Does nothing the second time. */
  release(giveUp?: () => Promise<void>): Promise<void>;
}

/** The lease expired while its work was delayed; another process may have reconciled that work by now. */
export class LeaseLost extends Error {
  constructor(name: string) {
    super(`the lease ${name} ran out`);
    this.name = 'LeaseLost';
  }
}

/** The port knows only whole processes, so each process keeps which of its leases are in use. */
const inUse = new WeakMap<Leases, Set<string>>();

function namesInUse(leases: Leases): Set<string> {
  const known = inUse.get(leases);
  if (known) return known;
  const names = new Set<string>();
  inUse.set(leases, names);
  return names;
}

/** Takes a lease, by `acquire`. Null when another task holds it, here or in another process. */
export async function holdLease(
  leases: Leases,
  name: string,
  acquire = () => leases.acquire(name),
): Promise<HeldLease | null> {
  const names = namesInUse(leases);
  if (names.has(name)) return null;
  names.add(name);
  let isHeld = false;
  try {
    isHeld = await acquire();
  } finally {
    if (!isHeld) names.delete(name);
  }
  if (!isHeld) return null;
  return {
    assertHeld: () => {
      if (!leases.isHeld(name)) throw new LeaseLost(name);
    },
    release: async (giveUp = () => leases.release(name)) => {
      if (!isHeld) return;
      isHeld = false;
      try {
        await giveUp();
      } finally {
        names.delete(name);
      }
    },
  };
}
