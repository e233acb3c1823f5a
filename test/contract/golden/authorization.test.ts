/** Who may call what: the answer of the gate to every capability for each role and credential, for review. */
import { expect } from 'chai';
import { ROLES } from '../../../commands/values/scopes.ts';
import { type Call, everyCall } from '../../support/worlds/authorization-calls.ts';
import { AuthorizationWorld, CREDENTIALS, type Holder } from '../../support/worlds/authorization-world.ts';
import { expectGolden } from '../../support/suite/golden.ts';
import { verifies } from '../../support/suite/verifies.ts';

/** `allowed: owner, admin; insufficient_scope: member`. */
function sentence(answers: readonly string[]): string {
  const groups = Map.groupBy(ROLES, (_, index) => answers[index] ?? '');
  if (groups.size === 1) return `${[...groups.keys()].join('')}: everybody`;
  return [...groups].map(([answer, roles]) => `${answer}: ${roles.join(', ')}`).join('; ');
}

/** A line for the credentials with the same answers; `holders` in the order of the roles. */
async function linesOf(
  world: AuthorizationWorld,
  holders: readonly Holder[],
  { capability, input }: Call,
): Promise<Readonly<Record<string, string>>> {
  const cells: (readonly [kind: string, line: string])[] = [];
  for (const kind of CREDENTIALS) {
    const answers: string[] = [];
    for (const holder of holders) answers.push(await world.answerTo(holder, kind, [capability, input]));
    expect(answers, 'a sample is wrong').not.to.include('invalid_request');
    cells.push([kind, sentence(answers)]);
  }
  const groups = Map.groupBy(cells, ([, line]) => line);
  const whose = (kinds: readonly (readonly [string, string])[]): string =>
    kinds.length === CREDENTIALS.length ? 'every credential' : kinds.map(([kind]) => kind).join(' | ');
  return Object.fromEntries([...groups].map(([line, kinds]) => [whose(kinds), line]));
}

describe('the recorded authorisation matrix', () => {
  it(`is what each role may call with each credential ${verifies('contract:3:matrix')}`, async () => {
    const world = await AuthorizationWorld.open();
    const verified = await Promise.all(ROLES.map((role) => world.holder(role)));
    const unverified = await Promise.all(ROLES.map((role) => world.holder(role, false)));
    const table: Record<string, object> = {};
    for (const call of everyCall(world)) {
      if (call.place === 'unknown') continue;
      const lines = await linesOf(world, verified, call);
      const withheld = await linesOf(world, unverified, call);
      const differs = JSON.stringify(withheld) !== JSON.stringify(lines);
      const name = call.place === null ? call.name : `${call.name} (mailbox: ${call.place})`;
      table[name] = { ...lines, ...(differs && { 'with an unverified address': withheld }) };
    }
    await expectGolden('authorization.json', table);
  });
});
