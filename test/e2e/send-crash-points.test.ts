import { expect } from 'chai';
import { type CrashPoint, crashPointsOf } from '../support/models/crash-line.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { brokenApprovalRules, type Deciders } from '../support/models/approval-invariants.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { type CrashedWork, SendCrashes } from '../support/models/send-crashes.ts';
import { brokenCopyRules, brokenSendRules, type SendWitness } from '../support/models/send-invariants.ts';
import { verifies } from '../support/suite/verifies.ts';

const brokenCheckRules = (witness: SendWitness, deciders: Deciders): readonly string[] => [
  ...brokenSendRules(witness),
  ...brokenApprovalRules(
    witness.events.filter(({ streamName }) => streamName.startsWith('operation-')),
    deciders,
  ),
];

/** Of the approved send, which passes three times as many messages, every fourth point; all of them in the long run. */
const EVERY = { send: 1, file_copy: 1, approved_send: timesOf(4, 1) } as const;

const works = [
  ['sending a draft', 'send', ['events', 'postgres', 'smtp'], brokenSendRules],
  ['sending what a person approved', 'approved_send', ['events', 'postgres', 'smtp'], brokenCheckRules],
  ['filing the copy in Sent', 'file_copy', ['events', 'imap', 'postgres'], brokenCopyRules],
] as const satisfies readonly (readonly [string, CrashedWork, readonly string[], typeof brokenCheckRules])[];

/** Each has a line and a run of its own; most of their time they wait. */
const AT_ONCE = 6;

describe('a crash before or after every message to a store or server', function () {
  this.timeout(300_000);
  let dovecot: TestDovecot;
  let crashes: SendCrashes;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    crashes = await SendCrashes.open(dovecot);
  });

  after(async () => {
    await crashes.close();
    await dovecot.dispose();
  });

  for (const [title, work, wires, brokenRules] of works) {
    it(`loses and repeats nothing, ${title} ${verifies('contract:10:send-cut-off', 'contract:14:send-once')}`, async () => {
      const startedAt = performance.now();
      // A message has no answer of its own; after it comes what is before its final dot.
      const all = crashPointsOf(await crashes.rehearse(work)).filter(
        ({ label, side }) => label !== 'message' || side === 'before',
      );
      expect([...new Set(all.map(({ wire }) => wire))].toSorted()).to.deep.equal(wires);
      const points = all.filter((_, index) => index % EVERY[work] === 0);
      const broken: string[] = [];
      const ends: Record<string, number> = {};
      await atOnce(points, async (point) => {
        const where = `${point.side} ${point.wire} ${String(point.index)} (${point.label})`;
        const witness = await crashes.crash(work, point);
        for (const sentence of brokenRules(witness, crashes.deciders)) broken.push(`${where}: ${sentence}`);
        const end = witness.told.at(-1)?.code ?? 'filed';
        ends[end] = (ends[end] ?? 0) + 1;
      });
      expect(broken.join('\n')).to.equal('');
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      figure(
        `${title}: ${String(points.length)} crash points in ${seconds} s, ended ${JSON.stringify(ends)}`,
      );
    });
  }
});

async function atOnce<Point extends CrashPoint>(
  points: readonly Point[],
  work: (point: Point) => Promise<void>,
): Promise<void> {
  const left = [...points];
  const next = async (): Promise<void> => {
    for (let point = left.shift(); point !== undefined; point = left.shift()) await work(point);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}
