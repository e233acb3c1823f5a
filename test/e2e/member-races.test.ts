import { expect } from 'chai';
import { createAgent } from '../../commands/organisation/add-agent.ts';
import { updateAgent } from '../../commands/organisation/manage-agents.ts';
import { removeMemberCapability, updateMember } from '../../commands/organisation/manage-members.ts';
import { createToken } from '../../commands/organisation/manage-tokens.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { type Ending, endingOf, MemberRaceWorld } from '../support/models/member-race-world.ts';
import { brokenMemberRules } from '../support/models/member-rules.ts';
import { Racecourse } from '../support/models/races.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';

const TIMES = timesOf(50, 1_000);
/** Races in one organisation, whose stream is read after each. */
const SAME_ORGANISATION = 25;

type Does = (ports: Ports) => Promise<unknown>;

/** Two calls on an organisation made for them, and what must hold afterwards, one sentence for each rule that is broken. */
interface Race {
  readonly left: Does;
  readonly right: Does;
  readonly judge: (left: Ending, right: Ending) => Promise<readonly string[]> | readonly string[];
  /** Who was first, for the lead of the next race. */
  readonly isLeft: (left: Ending, right: Ending) => boolean;
}

const inAWeek = (): string => new Date(Date.now() + 7 * 86_400_000).toISOString();

describe('two gateways with the members of one organisation', function () {
  this.timeout(timesOf(120_000, 1_800_000));
  let world: MemberRaceWorld;

  let olga = '';
  let otto = '';
  let max = '';
  let mia = '';

  before(async () => {
    const opened = await MemberRaceWorld.open(['olga', 'otto', 'max', 'mia']);
    world = opened.world;
    [olga = '', otto = '', max = '', mia = ''] = opened.ids;
  });
  after(async () => {
    await world[Symbol.asyncDispose]();
  });

  const remove =
    (by: string, user_id: string): Does =>
    (ports) =>
      world.act(ports, by, removeMemberCapability, { user_id });
  const demote =
    (by: string, user_id: string, role = 'member'): Does =>
    (ports) =>
      world.act(ports, by, updateMember, { user_id, role });

  /** No rule of the stream is broken in any of the races, and both sides were first at some time. */
  const raceOften = async (title: string, arrange: () => Promise<Race>): Promise<void> => {
    const course = new Racecourse();
    const broken: string[] = [];
    const won = { left: 0, right: 0 };
    for (let time = 0; time < TIMES; time += 1) {
      if (time % SAME_ORGANISATION === 0) await world.found(olga);
      const race = await arrange();
      await world.bothKnow();
      const ended = await course.run({
        left: () => race.left(world.left),
        right: () => race.right(world.right),
      });
      const [left, right] = [endingOf(ended[0]), endingOf(ended[1])];
      await world.bothKnow();
      const found = [...brokenMemberRules(await world.stream()), ...(await race.judge(left, right))];
      broken.push(...found.map((sentence) => `${sentence} (${left}, ${right})`));
      const winner = race.isLeft(left, right) ? 'left' : 'right';
      won[winner] += 1;
      course.tell(winner);
    }
    figure(`${title}: ${String(TIMES)} races, won ${JSON.stringify(won)}`);
    expect(broken.join('\n')).to.equal('');
    expect(won.left, 'won by the left one').to.be.above(0);
    expect(won.right, 'won by the right one').to.be.above(0);
  };

  const twoOwners = async (): Promise<void> => {
    // The owner that remained comes first, so that there is always one.
    for (const id of [olga, otto]) await world.seat(world.left, id, 'owner');
  };

  /** Of two owners who take each other's role one must stay, so one call is refused. */
  const againstEachOther = (first: (by: string, id: string) => Does, second: typeof first) => async () => {
    await twoOwners();
    return {
      left: first(olga, otto),
      right: second(otto, olga),
      isLeft: (left: Ending) => left === 'done',
      judge: (left: Ending, right: Ending) => {
        const owners = [...world.roles().values()].filter((role) => role === 'owner').length;
        const refusal = left === 'done' ? right : left;
        const isRefused = ['last_owner', 'insufficient_scope', 'not_found', 'token_revoked'].includes(
          refusal,
        );
        return [
          ...(owners === 1 ? [] : [`${String(owners)} owners`]),
          ...(left === 'done' || right === 'done' ? [] : ['both were refused']),
          ...(isRefused ? [] : ['none was refused as late']),
        ];
      },
    };
  };

  it(`keep one of two last owners who demote each other ${verifies('contract:13:last-owner')}`, async () => {
    await raceOften('two owners demote each other', againstEachOther(demote, demote));
  });

  it(`keep one of two last owners who remove each other ${verifies('contract:13:last-owner')}`, async () => {
    await raceOften('two owners remove each other', againstEachOther(remove, remove));
  });

  it(`keep one of two last owners of whom one removes and one demotes ${verifies('contract:13:last-owner')}`, async () => {
    await raceOften('an owner removes, an owner demotes', againstEachOther(remove, demote));
  });

  /** A member with an agent, a token and a token of the agent. */
  const member = async () => {
    await twoOwners();
    await world.seat(world.left, max, 'member');
    const { id: agentId } = await world.act<{ id: string }>(world.left, max, createAgent, { name: 'A' });
    const issue = async (ports: Ports, principal_id: string): Promise<string> => {
      const terms = { name: 'T', surface: 'rest', scopes: ['mailboxes:read'], expires_at: inAWeek() };
      const { id } = await world.act<{ id: string }>(ports, max, createToken, { ...terms, principal_id });
      return id;
    };
    const tokens = [await issue(world.left, max), await issue(world.left, agentId)];
    return { agentId, tokens, issue };
  };

  it(`return nothing of a membership to a person who is removed and added at once ${verifies('contract:2:departures')}`, async () => {
    await raceOften('a removal and an addition', async () => {
      const { tokens } = await member();
      return {
        left: remove(olga, max),
        right: (ports) => world.seat(ports, max, 'member'),
        isLeft: () => world.roles().has(max),
        judge: async (left, right) => {
          const usable = tokens.filter((token) => world.isUsable(token));
          const rest = await world.sweep();
          return [
            ...(left === 'done' && right === 'done' ? [] : ['one was refused']),
            ...(usable.length === 0
              ? []
              : [`${String(usable.length)} tokens of the former membership count`]),
            ...rest.map((each) => `left behind: ${each}`),
          ];
        },
      };
    });
  });

  it(`change no person who is removed at once ${verifies('contract:2:departures')}`, async () => {
    await raceOften('a removal and a new role', async () => {
      await twoOwners();
      await world.seat(world.left, max, 'approver');
      return {
        left: demote(olga, max, 'admin'),
        right: remove(otto, max),
        isLeft: (left) => left === 'done',
        judge: (left, right) => [
          ...(right === 'done' && !world.roles().has(max) ? [] : ['the removed person is a member']),
          ...(['done', 'not_found'].includes(left) ? [] : ['the new role was refused for another reason']),
        ],
      };
    });
  });

  it(`issue no token to a person whose agent is handed over at once ${verifies('contract:17:agent-changes')}`, async () => {
    await raceOften('a hand-over and a new token', async () => {
      const { agentId, issue, tokens } = await member();
      await world.seat(world.left, mia, 'member');
      let issued: string | null = null;
      return {
        left: (ports) => world.act(ports, olga, updateAgent, { agent_id: agentId, owner_id: mia }),
        right: async (ports) => {
          issued = await issue(ports, agentId);
        },
        isLeft: (_, right) => right !== 'done',
        judge: (left, right) => [
          ...(left === 'done' ? [] : ['the hand-over was refused']),
          ...(['done', 'not_found'].includes(right) ? [] : ['the token was refused for another reason']),
          ...(issued !== null && world.isUsable(issued) ? ['the former owner has a token that counts'] : []),
          ...(world.isUsable(tokens[1] ?? '') ? ['an earlier token counts'] : []),
          ...everyTokenOf(agentId)
            .filter((id) => world.isUsable(id))
            .map((id) => `${id} counts`),
        ],
      };
    });
  });

  const everyTokenOf = (principal: string): readonly string[] =>
    [...world.right.directory.state.tokens.values()].flatMap(({ id, principalId }) =>
      principalId === principal ? [id] : [],
    );
});
