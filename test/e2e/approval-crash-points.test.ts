import { expect } from 'chai';
import { brokenCrashRules } from '../support/models/approval-crash-rules.ts';
import { ApprovalCrashes, type ApprovedAction } from '../support/models/approval-crashes.ts';
import { crashPointsOf } from '../support/models/crash-line.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { spread } from '../support/suite/spread.ts';
import { verifies } from '../support/suite/verifies.ts';

/** Each has a line and a run of its own; most of their time they wait. */
const AT_ONCE = 6;
const MOST_POINTS = timesOf(24, Number.MAX_SAFE_INTEGER);

describe('a crash between a request, its decision, its commit and its outcome', function () {
  this.timeout(timesOf(120_000, 600_000));
  let dovecot: TestDovecot;
  let crashes: ApprovalCrashes;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    crashes = await ApprovalCrashes.open(dovecot);
  });

  after(async () => {
    await crashes.close();
    await dovecot.dispose();
  });

  for (const action of ['archive', 'expunge'] as const satisfies readonly ApprovedAction[]) {
    it(`loses no decision and runs nothing twice or without approval: ${action} ${verifies('contract:10:commit-unknown', 'contract:10:commit', 'contract:14:no-second-effect')}`, async () => {
      const startedAt = performance.now();
      const points = crashPointsOf(await crashes.rehearse(action));
      expect(new Set(points.map(({ wire }) => wire))).to.deep.equal(new Set(['events', 'postgres', 'imap']));
      const chosen = [...spread(points, Math.min(points.length, MOST_POINTS))];
      const broken: string[] = [];
      const attempts: Record<string, number> = {};
      const next = async (): Promise<void> => {
        for (let point = chosen.shift(); point !== undefined; point = chosen.shift()) {
          const where = `${point.side} ${point.wire} ${String(point.index)} (${point.label})`;
          const witness = await crashes.crash(action, point).catch((error: unknown) => {
            throw new Error(`crashed ${where}`, { cause: error });
          });
          for (const sentence of brokenCrashRules(witness, crashes.deciders))
            broken.push(`${where}: ${sentence}`);
          const begun = String(witness.events.filter(({ type }) => type === 'CommitStarted').length);
          attempts[begun] = (attempts[begun] ?? 0) + 1;
        }
      };
      const count = chosen.length;
      await Promise.all(Array.from({ length: AT_ONCE }, next));
      expect(broken.join('\n')).to.equal('');
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      figure(
        `${action}: ${String(count)} of ${String(points.length)} crash points in ${seconds} s, commits by attempts ${JSON.stringify(attempts)}`,
      );
    });
  }
});
