import { expect } from 'chai';
import { personCommand, type PersonArguments } from '../../../../infra/admin/person-command.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { settleErasure } from '../../../../commands/organisation/erase-account.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ANN = { verb: 'add', email: 'ann@example.com', role: 'approver', name: 'Ann', org: undefined } as const;

describe('admin person', () => {
  let gateway: MemoryGateway;
  let made: (string | null)[];
  beforeEach(async () => {
    gateway = await startMemoryGateway();
    made = [];
  });

  const run = (given: PersonArguments): Promise<string> => {
    const links = {
      make: async (_: string, subject: string | null) => `token-${String(made.push(subject))}`,
      find: async () => null,
      take: async () => null,
      takeForPassword: async () => null,
      withdraw: async () => undefined,
    };
    return personCommand({ ...gateway.ports, links }, given);
  };
  const refusal = async (given: PersonArguments): Promise<string> => {
    try {
      await run(given);
    } catch (error) {
      return String(error).replace(/^\w*Error: /, '');
    }
    throw new Error('it was not refused');
  };

  it(`adds a member and prints a link for that person ${verifies('contract:18:admin-person')}`, async () => {
    const lines = (await run(ANN)).split('\n');
    expect(lines[0]).to.equal('ann@example.com is an approver now.');
    expect(lines.at(-1)).to.equal('http://127.0.0.1/console#reset=token-1');
    const { people, members } = gateway.ports.directory.state;
    const ann = [...people.values()].find(({ email }) => email === 'ann@example.com');
    expect(ann?.name).to.equal('Ann');
    expect(made).to.deep.equal([ann?.id]);
    expect(members.get(`${gateway.org.orgId}/${ann?.id ?? ''}`)?.role).to.equal('approver');
  });

  it('is repeatable, and resets the person it added', async () => {
    await run(ANN);
    const before = gateway.events.all.length;
    await run(ANN);
    await run({ ...ANN, verb: 'reset', email: ' Ann@Example.com', role: undefined });
    expect(gateway.events.all.length).to.equal(before);
    expect(new Set(made).size).to.equal(1);
  });

  it('resumes with the same person when it was interrupted', async () => {
    const { events } = gateway;
    const append = events.append.bind(events);
    events.append = (stream, ...rest) =>
      stream.startsWith('account-') ? Promise.reject(new Error('cut off')) : append(stream, ...rest);
    expect(await refusal(ANN)).to.equal('cut off');
    events.append = append;
    await run(ANN);
    const reserved = events.all.filter(({ type }) => type === 'EmailReserved').at(-1);
    expect(made).to.deep.equal([reserved?.data['owner_id']]);
  });

  it(`erases an account, and says whose last owner would be lost ${verifies('contract:12:erasure')}`, async () => {
    await run(ANN);
    const erase = { ...ANN, verb: 'erase', role: undefined };
    const ann = [...gateway.ports.directory.state.people.values()].find(({ email }) => email === ANN.email);
    expect(await run(erase)).to.equal(
      `The account of ann@example.com is erased; the trail names it ${ann?.id ?? ''}.`,
    );
    expect(gateway.ports.directory.state.people.has(ann?.id ?? '')).to.equal(false);
    expect(await refusal(erase)).to.match(/^No person has the address/);
    expect(await refusal({ ...erase, email: 'owner@example.com' })).to.match(
      /^The account is the last owner of Example \(org_\w+\): make another member an owner first/,
    );
  });

  it('begins an erasure that a running gateway finishes, when nothing follows the log, also when repeated', async () => {
    await run(ANN);
    const { ports } = gateway;
    const ann = [...ports.directory.state.people.values()].find(({ email }) => email === ANN.email);
    const userId = ann?.id ?? '';
    // The read models have all of before, and nothing since.
    const head = await ports.events.headPosition();
    const approvalsOf = async () => {
      if ((await ports.events.headPosition()) > head) throw new GatewayError('index_building', 'Not yet.');
      return [];
    };
    const behind = { ...ports, trails: { ...ports.trails, approvalsOf } };
    const erase = { ...ANN, verb: 'erase', role: undefined };
    const begun = 'The erasure of the account of ann@example.com has begun; a running gateway finishes it.';
    expect(await personCommand(behind, erase)).to.equal(begun);
    expect(await personCommand(behind, erase), 'again').to.equal(begun);
    expect(ports.directory.state.people.get(userId)?.isBeingErased).to.equal(true);
    await settleErasure(ports, userId);
    expect(ports.directory.state.people.has(userId)).to.equal(false);
  });

  it('explains each mistake in a sentence', async () => {
    await run(ANN);
    expect(await refusal({ ...ANN, role: 'boss' })).to.match(/^Say what the person is with --role: owner, /);
    expect(await refusal({ ...ANN, role: undefined })).to.match(/^Say what the person is with --role/);
    expect(await refusal({ ...ANN, role: 'owner' })).to.equal(
      'This person is a member already, as approver.',
    );
    expect(await refusal({ ...ANN, email: 'ann' })).to.equal('ann is not an e-mail address.');
    expect(await refusal({ ...ANN, verb: 'remove' })).to.match(/^Say what to do with the person/);
    expect(await refusal({ ...ANN, verb: 'reset', email: 'x@example.com' })).to.match(
      /^No person has the address/,
    );
    expect(await refusal({ ...ANN, org: 'org_0' })).to.match(/^Name the organisation with --org: org_/);
  });
});
