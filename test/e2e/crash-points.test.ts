import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { crashPointsOf } from '../support/models/crash-line.ts';
import { CrashWorld, type Scenario } from '../support/models/crash-points.ts';
import { type Levers, NO_MOVE, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { brokenInvariants, type Witness } from '../support/models/log-invariants.ts';
import { figure } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';

const ONE: Scenario = { title: 'one message', folders: ['INBOX'], withMessageId: true };
const THREE: Scenario = {
  title: 'three messages of two folders',
  folders: ['INBOX', 'Work', 'INBOX'],
  withMessageId: true,
};
const NAMELESS: Scenario = {
  title: 'a message without a Message-ID',
  folders: ['INBOX'],
  withMessageId: false,
};

const servers: readonly (readonly [title: string, levers: Levers, scenarios: readonly Scenario[]])[] = [
  ['MOVE', {}, [ONE, THREE, NAMELESS]],
  ['COPY and EXPUNGE', { capability: NO_MOVE }, [ONE]],
];

for (const [title, levers, scenarios] of servers) {
  describe(`a crash before or after every message to a store, archiving with ${title}`, function () {
    this.timeout(120_000);
    let dovecot: TestDovecot;
    let world: CrashWorld;
    let folder: string;

    before(async function () {
      dovecot = await requireTestDovecot(this, levers);
      folder = await mkdtemp(join(tmpdir(), 'gateway-crash-'));
      world = await CrashWorld.open(dovecot, join(folder, 'master.key'));
    });

    after(async () => {
      await world.close();
      await dovecot.dispose();
      await rm(folder, { recursive: true, force: true });
    });

    for (const scenario of scenarios) {
      it(`loses, repeats and hides nothing: ${scenario.title} ${verifies('contract:10:cut-off', 'contract:10:reconciled', 'contract:14:no-second-effect')}`, async () => {
        const startedAt = performance.now();
        const points = crashPointsOf(await world.rehearse(scenario));
        expect(new Set(points.map(({ wire }) => wire))).to.deep.equal(
          new Set(['events', 'postgres', 'imap']),
        );
        const broken: string[] = [];
        const ends: Record<string, number> = {};
        for (const point of points) {
          const where = `${point.side} ${point.wire} ${String(point.index)} (${point.label})`;
          const witness = await world.crash(scenario, point);
          for (const sentence of [...brokenInvariants(witness), ...openAnswers(witness, scenario)])
            broken.push(`${where}: ${sentence}`);
          const end =
            witness.answers
              .at(-1)
              ?.results.map(({ outcome }) => outcome)
              .join('+') ?? 'nothing';
          ends[end] = (ends[end] ?? 0) + 1;
        }
        expect(broken.join('\n')).to.equal('');
        expect(await world.changedEvents(), 'events that changed after they were read').to.equal(0);
        const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
        figure(
          `${title}, ${scenario.title}: ${String(points.length)} crash points in ${seconds} s, ended ${JSON.stringify(ends)}`,
        );
      });
    }
  });
}

/** After the sweep the repeat is final; only a message that nothing tells apart may stay unknown. */
function openAnswers({ answers }: Witness, { withMessageId }: Scenario): readonly string[] {
  const [repeat, last] = answers.slice(-2);
  const sentences: string[] = [];
  if (JSON.stringify(repeat) !== JSON.stringify(last)) sentences.push('two repeats are told differently');
  if (withMessageId && last?.results.some(({ outcome }) => outcome === 'unknown'))
    sentences.push('the repeat does not give the final answer');
  return sentences;
}
