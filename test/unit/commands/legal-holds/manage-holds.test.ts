import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import type { Hold } from '../../../../commands/legal-holds/hold-payload.ts';
import { placeLegalHold, releaseAsOperator } from '../../../../commands/legal-holds/manage-holds.ts';
import { draft } from '../../../../commands/drafts/draft.ts';
import { getLegalHold, listLegalHolds } from '../../../../read-api/legal-holds/list-legal-holds.ts';
import { holdCommand } from '../../../../infra/admin/hold-command.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { HoldWorld } from '../../../support/worlds/hold-world.ts';

describe('a legal hold of people', () => {
  let holds: HoldWorld;
  beforeEach(async () => {
    holds = await HoldWorld.open();
  });

  it(`is placed in a session by who manages holds, and listed ${verifies('contract:17:legal-holds')}`, async () => {
    const { world } = holds;
    const mailboxId = await world.mailbox();
    const admin = await world.member('admin');
    const placed = await holds.place([{ type: 'mailbox', id: mailboxId }], admin);
    expect(placed).to.deep.equal({
      id: placed.id,
      name: 'Example v. Sample',
      reason: 'They wrote to us.',
      targets: [{ type: 'mailbox', id: mailboxId }],
      state: 'active',
      created_at: placed.created_at,
      created_by: admin,
      release: null,
      awaits: null,
      postponed_erasures: [],
    });
    expect(placed.id).to.match(/^hld_[0-9a-z]{26}$/);
    const token = await world.gateway.signIn();
    expect(await world.gateway.call(getLegalHold, { hold_id: placed.id }, { token })).to.deep.equal(placed);
    const { items } = await world.gateway.call<{ items: Hold[] }>(listLegalHolds, {}, { token });
    expect(items).to.deep.equal([placed]);
    const input = { name: 'x', reason: 'x', targets: [{ type: 'mailbox', id: mailboxId }] };
    expect(await rejection(world.gateway.call(placeLegalHold, input))).to.include({
      code: 'insufficient_scope',
    });
    for (const role of ['approver', 'member', 'auditor'] as const) {
      const by = await world.member(role);
      expect(await rejection(holds.place(input.targets as never, by))).to.include({
        code: 'insufficient_scope',
      });
    }
    const other = { token: await world.gateway.signIn(admin) };
    expect(await rejection(world.gateway.call(getLegalHold, { hold_id: 'hld_1' }, other))).to.include({
      code: 'not_found',
    });
  });

  it('has its reason sealed under its own id, and is made once for a key', async () => {
    const ann = await holds.world.member('admin');
    const [first, second] = [
      await holds.place([{ type: 'person', id: ann }], undefined, 'key'),
      await holds.place([{ type: 'person', id: ann }], undefined, 'key'),
    ];
    expect(second.id).to.equal(first.id);
    const placed = holds.world.gateway.events.all.filter(({ type }) => type === 'LegalHoldPlaced');
    expect(placed.map(({ data }) => data['reason'])).to.deep.equal([`sealed:${first.id}:They wrote to us.`]);
  });

  it('names what is or was of the organisation', async () => {
    const { world } = holds;
    const gone = await world.member('member');
    await world.remove(gone);
    await holds.place([{ type: 'person', id: gone }]);
    const stranger = await world.account('stranger@example.org');
    const elsewhere = await world.found(stranger);
    await decideAndAppend(world.ports, systemAuthor(world.ports, elsewhere), draft, {
      id: 'drf_00000000000000000000000000',
      decide: () => [
        { type: 'DraftStarted', data: { ...SAMPLE_EVENTS.DraftStarted, mailbox_id: 'mbx_x' } } as const,
      ],
    });
    const unknown = [
      { type: 'person', id: 'usr_00000000000000000000000000' },
      { type: 'mailbox', id: 'mbx_00000000000000000000000000' },
      { type: 'draft', id: 'drf_00000000000000000000000000' },
      { type: 'draft', id: 'no draft' },
      { type: 'approval', id: 'chk_00000000000000000000000000' },
    ] as const;
    for (const target of unknown)
      expect(await rejection(holds.place([target])), target.id).to.include({ code: 'not_found' });
    expect(await rejection(holds.place([]))).to.include({ code: 'invalid_request' });
    expect(
      await rejection(
        holds.place([
          { type: 'person', id: gone },
          { type: 'person', id: gone },
        ]),
      ),
    ).to.include({ code: 'invalid_request' });
  });

  it(`is released by a second person ${verifies('contract:12:hold-release')}`, async () => {
    const { world } = holds;
    const [ann, bob] = [await world.member('admin'), await world.member('admin')];
    const { id } = await holds.place([{ type: 'person', id: ann }]);
    const asked = await holds.release(id, ann);
    expect(asked).to.include({ state: 'release_requested', awaits: 'second_person' });
    expect(asked.release).to.deep.include({ requested_by: ann, reason: 'Settled.', released_by: null });
    expect(await rejection(holds.release(id, ann))).to.include({ code: 'self_approval_forbidden' });
    const operator = releaseAsOperator(world.ports, systemAuthor(world.ports, world.orgId), {
      id,
      reason: 'x',
    });
    expect(await rejection(operator)).to.include({ code: 'conflict' });
    const released = await holds.release(id, bob);
    expect(released).to.include({ state: 'released', awaits: null });
    expect(released.release).to.deep.include({ requested_by: ann, released_by: bob });
    expect(await holds.release(id, ann)).to.include({ state: 'released' });
    expect(holds.typesOf(`legalHold-${id}`)).to.deep.equal([
      'LegalHoldPlaced',
      'LegalHoldReleaseRequested',
      'LegalHoldReleased',
    ]);
  });

  it(`is released on the machine where there is no second person ${verifies('contract:12:hold-operator')}`, async () => {
    const { world } = holds;
    const { id } = await holds.place([{ type: 'person', id: world.gateway.org.userId }]);
    const run = (reason = 'No second person.') => holdCommand(world.ports, { verb: 'release', id, reason });
    expect(await rejection(run())).to.include({ code: 'conflict' });
    expect(await holds.release(id)).to.include({ state: 'release_requested', awaits: 'operator' });
    expect(await rejection(run(''))).to.match(/--reason/);
    expect(await holdCommand(world.ports, { verb: 'list', id: undefined, reason: undefined })).to.include(id);
    expect(await run()).to.include('is released; you were the second');
    expect(await run()).to.include('was released before');
    expect(world.state.legalHolds.get(id)).to.deep.include({ state: 'released' });
    expect(world.state.legalHolds.get(id)?.release?.releasedBy).to.equal('admin-command');
  });
});
