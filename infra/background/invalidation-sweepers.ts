/**
 * Ends approvals whose requester, approver, grant, mailbox or target is gone. The directory reports
 * principals and mailboxes that changed; the read model names approvals with a target that an event may have
 * removed. Each approval is then loaded and decided, so an early or repeated report does no harm.
 */
import { invalidateMissingTargets } from '../../commands/approvals/invalidate-missing-targets.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import {
  listSuspectApprovals,
  listUndecidedApprovals,
  SUSPECT_PROBE,
  type SuspectedPlace,
  type UndecidedApproval,
  type Whose,
} from '../../projections/due-approvals.ts';
import type { RightsChange } from '../directory/changed-rights.ts';
import type { Outcome, Room, Sweeper } from './run-sweeper.ts';
import type { GrantEntry } from '../../commands/ports/directory.ts';

const SCAN_EVERY_MS = 60_000;
/** Longer than the pause between two scans. */
const AHEAD_MS = 75_000;

interface Expiry {
  readonly principalId: string;
  readonly at: number;
}

/** Finds expired grants: all grants are scanned once a minute, and only those that expire soon are kept. */
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

const PAGE = 500;

const COMMON = {
  everyMs: 500,
  atOnce: 16,
  pauses: { firstMs: 1_000, mostMs: 5 * 60_000 },
  keyOf: ({ operationId }: UndecidedApproval) => operationId,
};

/** Approvals to load, each kept until it was loaded once successfully. */
class Suspects {
  readonly #ports: Ports;
  readonly #asksServer: boolean;
  readonly #waiting = new Map<string, UndecidedApproval>();

  constructor(ports: Ports, asking: { readonly asksServer: boolean }) {
    this.#ports = ports;
    this.#asksServer = asking.asksServer;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(approvals: readonly UndecidedApproval[]): void {
    for (const approval of approvals) this.#waiting.set(approval.operationId, approval);
  }

  /** Every approval that may begin; the sweeper takes as many as it has room for. */
  due({ except }: Room): readonly UndecidedApproval[] {
    const excluded = new Set(except);
    return [...this.#waiting.values()].filter(({ operationId }) => !excluded.has(operationId));
  }

  async settle(approval: UndecidedApproval): Promise<Outcome> {
    // A report that arrives after this is another task.
    this.#waiting.delete(approval.operationId);
    try {
      await invalidateMissingTargets(this.#ports, approval, { asksServer: this.#asksServer });
      return 'settled';
    } catch (error) {
      this.add([approval]);
      throw error;
    }
  }
}

interface Scan {
  readonly whose: Whose;
  readonly after: string;
}

const EVERYTHING: readonly Scan[] = [{ whose: null, after: '' }];

/** Tests rights only: an unreachable mail server does not delay it. */
export class RightsInvalidation implements Sweeper<UndecidedApproval> {
  readonly name = 'rights-invalidation';
  readonly everyMs = COMMON.everyMs;
  readonly atOnce = COMMON.atOnce;
  readonly pauses = COMMON.pauses;
  readonly keyOf = COMMON.keyOf;
  readonly #ports: Ports;
  readonly #suspects: Suspects;
  readonly #expiries: GrantExpiries;
  /** A new process reads every open approval once. */
  #scans = EVERYTHING;
  #principals = new Set<string>();
  #mailboxes = new Set<string>();

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#suspects = new Suspects(ports, { asksServer: false });
    this.#expiries = new GrantExpiries(ports);
  }

  /** The rights of these principals, or these mailboxes, changed. */
  changed(change: RightsChange): void {
    if (change === 'everything') {
      this.#scans = EVERYTHING;
      return;
    }
    for (const id of change.principals) this.#principals.add(id);
    for (const id of change.mailboxes) this.#mailboxes.add(id);
    this.#expiries.note(change.principals);
  }

  get isIdle(): boolean {
    return this.#scans.length === 0 && this.#suspects.size === 0;
  }

  async find(room: Room): Promise<readonly UndecidedApproval[]> {
    for (const id of this.#expiries.take()) this.#principals.add(id);
    this.#scanChanged();
    await this.#readPage();
    return this.#suspects.due(room);
  }

  settle(approval: UndecidedApproval): Promise<Outcome> {
    return this.#suspects.settle(approval);
  }

  #scanChanged(): void {
    const people = this.#principals;
    const mailboxes = [...this.#mailboxes];
    this.#principals = new Set();
    this.#mailboxes = new Set();
    const added: Scan[] = [];
    if (mailboxes.length > 0) added.push({ whose: { mailboxes }, after: '' });
    if (people.size > 0) {
      const agents = [...this.#ports.directory.state.agents.values()];
      const theirs = agents.filter(({ ownerId }) => people.has(ownerId)).map(({ id }) => id);
      added.push({ whose: { requesters: [...people, ...theirs] }, after: '' });
      added.push({ whose: { voters: [...people] }, after: '' });
    }
    this.#scans = [...this.#scans, ...added];
  }

  async #readPage(): Promise<void> {
    const [scan] = this.#scans;
    if (scan === undefined) return;
    const page = await listUndecidedApprovals(this.#ports.sql, scan.whose, {
      after: scan.after,
      limit: PAGE,
    });
    const last = page.length < PAGE ? undefined : page.at(-1);
    this.#suspects.add(page);
    const rest = this.#scans.filter((each) => each !== scan);
    this.#scans = last === undefined ? rest : [{ ...scan, after: last.operationId }, ...rest];
  }
}

/** Tests targets; queries the mail server. */
export class TargetInvalidation implements Sweeper<UndecidedApproval> {
  readonly name = 'target-invalidation';
  readonly everyMs = COMMON.everyMs;
  readonly atOnce = COMMON.atOnce;
  readonly ofOneMailbox = 2;
  readonly probe = SUSPECT_PROBE;
  readonly pauses = COMMON.pauses;
  readonly keyOf = COMMON.keyOf;
  readonly mailboxOf = ({ mailboxId }: UndecidedApproval): string => mailboxId;
  readonly #ports: Ports;
  readonly #suspects: Suspects;
  #upTo: SuspectedPlace = { suspectedAt: 0n, operationId: '' };

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#suspects = new Suspects(ports, { asksServer: true });
  }

  get isIdle(): boolean {
    return this.#suspects.size === 0;
  }

  async find(room: Room): Promise<readonly UndecidedApproval[]> {
    const page = await listSuspectApprovals(this.#ports.sql, { after: this.#upTo, limit: PAGE });
    this.#suspects.add(page);
    this.#upTo = page.at(-1) ?? this.#upTo;
    return this.#suspects.due(room);
  }

  settle(approval: UndecidedApproval): Promise<Outcome> {
    return this.#suspects.settle(approval);
  }
}
