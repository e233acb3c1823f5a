/** Finds expired grants: all grants are scanned once a minute, and only those that expire soon are kept. */
import type { GrantEntry } from '../../commands/ports/directory.ts';
import type { Ports } from '../../commands/ports/ports.ts';

const SCAN_EVERY_MS = 60_000;
/** Longer than the pause between two scans. */
const AHEAD_MS = 75_000;

interface Expiry {
  readonly principalId: string;
  readonly at: number;
}

export class GrantExpiries {
  readonly #ports: Pick<Ports, 'clock' | 'directory'>;
  /** By grant id. */
  readonly #soon = new Map<string, Expiry>();
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** The last scan kept grants that expire up to this time. */
  #keptUpTo = Number.POSITIVE_INFINITY;

  constructor(ports: Pick<Ports, 'clock' | 'directory'>) {
    this.#ports = ports;
  }

  /** The grants of these principals may have changed since the last scan. */
  note(principalIds: readonly string[]): void {
    const { state } = this.#ports.directory;
    for (const principalId of principalIds) {
      for (const mailboxId of state.mailboxIdsByPrincipal.get(principalId) ?? []) {
        const grant = state.grants.get(state.grantIds.get(mailboxId)?.get(principalId) ?? '');
        if (grant) this.#keep(grant);
      }
    }
  }

  /** Principals with a grant that expired since the last call. */
  take(): readonly string[] {
    const { clock, directory } = this.#ports;
    const now = clock.now().getTime();
    if (clock.elapsedMs() - this.#scannedAt >= SCAN_EVERY_MS) {
      this.#scannedAt = clock.elapsedMs();
      for (const grant of directory.state.grants.values()) this.#keep(grant);
      this.#keptUpTo = now + AHEAD_MS;
    }
    const over = [...this.#soon].filter(([, { at }]) => at <= now);
    for (const [id] of over) this.#soon.delete(id);
    return over.map(([, { principalId }]) => principalId);
  }

  #keep({ id, principalId, expiresAt }: GrantEntry): void {
    const now = this.#ports.clock.now().getTime();
    const at = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
    if (at > now + AHEAD_MS) this.#soon.delete(id);
    // After a pause of the scans, or when the clock was set ahead: grants that expired meanwhile are reported
    // now.
    else if (at > Math.min(now, this.#keptUpTo)) this.#soon.set(id, { principalId, at });
  }
}
