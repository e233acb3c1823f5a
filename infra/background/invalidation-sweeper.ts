/**
 * Ends approvals whose requester, approver, grant, mailbox or target is gone. It is told what changed: the directory's copy
 * names principals and mailboxes, the read model names approvals with a target that an event may have taken away. Whether
 * the ground is gone is then looked up, so nothing that was told too early or twice does harm.
 */
import { invalidateMissingTargets } from '../../commands/approvals/invalidate-missing-targets.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import {
  listUndecidedApprovals,
  listSuspectApprovals,
  type UndecidedApproval,
  type SuspectedPlace,
  type Whose,
} from '../../projections/suspect-approvals.ts';
import type { RightsChange } from '../directory/changed-rights.ts';
import { GrantExpiries } from './grant-expiries.ts';
import { Lane } from './lane.ts';
import { repeat } from './repeat.ts';

const LOOK_EVERY_MS = 500;
const AT_ONCE = 16;
/** A mail server that hangs keeps its own approvals waiting. */
const OF_ONE_MAILBOX = 2;
const PAGE = 500;
const END_WITHIN_MS = 10_000;

/** Tells of every change of somebody's rights from now on. */
export interface RightsNews {
  onRightsChange(listener: (change: RightsChange) => void): void;
}

/** Looks until the signal aborts; what is under way is brought to its end. */
export async function runGroundSweeper(ports: Ports, rights: RightsNews, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports;
  const sweeper = new GroundSweeper(ports);
  rights.onRightsChange((change) => {
    if (!signal.aborted) sweeper.changed(change);
  });
  await repeat({ name: 'ground-sweeper', everyMs: LOOK_EVERY_MS, clock, log, signal }, () => sweeper.sweep());
  await sweeper.end();
}

interface Scan {
  readonly whose: Whose;
  readonly after: string;
}

/** Looks that are due, each until it succeeded once. What fails waits for its next try behind the others. */
class Looks {
  readonly #lane: Lane;
  readonly #waiting = new Map<string, UndecidedApproval>();
  readonly #look: (check: UndecidedApproval) => Promise<unknown>;

  constructor({ clock, log }: Ports, look: (check: UndecidedApproval) => Promise<unknown>) {
    this.#lane = new Lane({ atOnce: AT_ONCE, clock, log });
    this.#look = look;
  }

  add(checks: readonly UndecidedApproval[]): void {
    for (const check of checks) this.#waiting.set(check.operationId, check);
  }

  begin(): void {
    const taken = new Set(this.#lane.taken);
    for (const check of this.#waiting.values()) {
      if (this.#lane.room <= 0) return;
      const ofMailbox = this.#lane.busy.filter((mailboxId) => mailboxId === check.mailboxId).length;
      if (taken.has(check.operationId) || ofMailbox >= OF_ONE_MAILBOX) continue;
      this.#lane.begin(check, async () => {
        // What is told of it from here on is another look.
        this.#waiting.delete(check.operationId);
        try {
          await this.#look(check);
          return true;
        } catch (error) {
          this.add([check]);
          throw error;
        }
      });
    }
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#lane.busy.length === 0;
  }

  async end(): Promise<void> {
    await this.#lane.end(END_WITHIN_MS);
  }
}

export class GroundSweeper {
  readonly #ports: Ports;
  /** A mail server that is away keeps no look at rights waiting. */
  readonly #rights: Looks;
  readonly #targets: Looks;
  readonly #expiries: GrantExpiries;
  /** A new process knows nothing and looks at every open approval once. */
  #scans: Scan[] = [{ whose: null, after: '' }];
  #principals = new Set<string>();
  #mailboxes = new Set<string>();
  #suspectedUpTo: SuspectedPlace = { suspectedAt: 0n, operationId: '' };

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#expiries = new GrantExpiries(ports);
    this.#rights = new Looks(ports, (check) => invalidateMissingTargets(ports, check, { asksServer: false }));
    this.#targets = new Looks(ports, (check) => invalidateMissingTargets(ports, check, { asksServer: true }));
  }

  /** Somebody's rights, or what a mailbox is, are not what they were. */
  changed(change: RightsChange): void {
    if (change === 'everything') {
      this.#scans = [{ whose: null, after: '' }];
      return;
    }
    for (const id of change.principals) this.#principals.add(id);
    for (const id of change.mailboxes) this.#mailboxes.add(id);
    this.#expiries.note(change.principals);
  }

  /** One pass: a page of each list, and as many looks as fit. Throws when the database is away. */
  async sweep(): Promise<void> {
    for (const id of this.#expiries.take()) this.#principals.add(id);
    this.#scanChanged();
    await this.#listPage();
    await this.#listSuspected();
    this.#rights.begin();
    this.#targets.begin();
  }

  /** True when nothing is left to be looked at. */
  get isIdle(): boolean {
    return this.#scans.length === 0 && this.#rights.isIdle && this.#targets.isIdle;
  }

  async end(): Promise<void> {
    await Promise.all([this.#rights.end(), this.#targets.end()]);
  }

  #scanChanged(): void {
    const people = this.#principals;
    const mailboxes = [...this.#mailboxes];
    this.#principals = new Set();
    this.#mailboxes = new Set();
    if (mailboxes.length > 0) this.#scans.push({ whose: { mailboxes }, after: '' });
    if (people.size === 0) return;
    const theirs = [...this.#ports.directory.state.agents.values()].filter(({ ownerId }) =>
      people.has(ownerId),
    );
    const requesters = [...people, ...theirs.map(({ id }) => id)];
    this.#scans.push({ whose: { requesters }, after: '' }, { whose: { voters: [...people] }, after: '' });
  }

  async #listPage(): Promise<void> {
    const [scan] = this.#scans;
    if (scan === undefined) return;
    const page = await listUndecidedApprovals(this.#ports.sql, scan.whose, {
      after: scan.after,
      limit: PAGE,
    });
    const last = page.length < PAGE ? undefined : page.at(-1);
    this.#rights.add(page);
    const rest = this.#scans.filter((each) => each !== scan);
    this.#scans = last === undefined ? rest : [{ ...scan, after: last.operationId }, ...rest];
  }

  async #listSuspected(): Promise<void> {
    const page = await listSuspectApprovals(this.#ports.sql, { after: this.#suspectedUpTo, limit: PAGE });
    this.#targets.add(page);
    this.#suspectedUpTo = page.at(-1) ?? this.#suspectedUpTo;
  }
}
