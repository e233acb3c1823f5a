/** Finds organisations where people may have to be told of waiting approvals, and has them told. */
import { requestNotices } from '../../commands/approver-notices/request-notices.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import {
  listWaitingOrgs,
  loadNoticeWork,
  WAITING_PROBE,
  type WaitingOrg,
} from '../../projections/approver-notices.ts';
import type { Outcome, Room, Sweeper } from './run-sweeper.ts';

const SECOND = 1_000;
/** A changed setting, role or vote takes effect after this at the latest. */
const LOOK_EVERY_MS = 60 * SECOND;
/** Until then the read model may not have the notices just requested. */
const LOOK_AGAIN_MS = 2 * SECOND;

interface Looked {
  readonly mark: string;
  readonly againAt: number;
}

/** Remembers when to look again; what it forgets is looked at again, and the chain of notices keeps it from telling a person twice. */
export class ApproverNotices implements Sweeper<WaitingOrg> {
  readonly name = 'approver-notices';
  readonly everyMs = SECOND;
  readonly probe = WAITING_PROBE;
  readonly atOnce = 4;
  readonly pauses = { firstMs: SECOND, mostMs: 5 * LOOK_EVERY_MS };
  readonly #ports: Ports;
  #looked: ReadonlyMap<string, Looked> = new Map();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async find({ now, except }: Room): Promise<readonly WaitingOrg[]> {
    const waiting = await listWaitingOrgs(this.#ports.sql);
    // Organisations without a waiting approval are forgotten.
    this.#looked = new Map(
      waiting.flatMap(({ orgId }) => {
        const looked = this.#looked.get(orgId);
        return looked === undefined ? [] : [[orgId, looked]];
      }),
    );
    return waiting.filter(({ orgId, mark }) => {
      const looked = this.#looked.get(orgId);
      const isDue = looked?.mark !== mark || looked.againAt <= now.getTime();
      return isDue && !except.includes(orgId);
    });
  }

  keyOf({ orgId }: WaitingOrg): string {
    return orgId;
  }

  async settle({ orgId, mark }: WaitingOrg): Promise<Outcome> {
    const ports = this.#ports;
    const now = ports.clock.now();
    const { approvals, told } = await loadNoticeWork(ports.sql, orgId, now);
    const { notices, lookAt } = await requestNotices(ports, { orgId, approvals, told });
    const soonest = notices.length > 0 ? LOOK_AGAIN_MS : LOOK_EVERY_MS;
    const againAt = Math.min(now.getTime() + soonest, lookAt?.getTime() ?? Infinity);
    this.#looked = new Map([...this.#looked, [orgId, { mark, againAt }]]);
    return 'settled';
  }
}
