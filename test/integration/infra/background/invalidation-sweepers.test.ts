import { endOf } from '../../../../commands/operations/approval-state.ts';
import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import { appendFacts } from '../../../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { RightsChange } from '../../../../infra/directory/changed-rights.ts';
import type { GrantEntry, MailboxEntry } from '../../../../commands/ports/directory.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { catalogueOf, type Fact } from '../../../../commands/values/event.ts';
import { type FeedChange, feedEvents, feedStream } from '../../../../commands/feed/feed-events.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import {
  RightsInvalidation,
  TargetInvalidation,
} from '../../../../infra/background/invalidation-sweepers.ts';
import { SweeperRun } from '../../../../infra/background/run-sweeper.ts';
import { approvals } from '../../../../projections/approvals.ts';
import { WORLD_NOW } from '../../../support/worlds/access-world.ts';
import { type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';
import { seatMember } from '../../../support/worlds/people.ts';

/** What a map holds under this id. Throws when it holds nothing. */
function held<Entry>(map: ReadonlyMap<string, Entry>, id: string): Entry {
  const entry = map.get(id);
  if (entry === undefined) throw new Error(`there is no ${id}`);
  return entry;
}

const BOX = 'mbx_0';

/** Both sweepers of a process, a pass at a time. */
class Invalidation {
  readonly #rights: RightsInvalidation;
  readonly #targets: TargetInvalidation;
  readonly #runs: readonly SweeperRun[];

  constructor(ports: Ports) {
    this.#rights = new RightsInvalidation(ports);
    this.#targets = new TargetInvalidation(ports);
    this.#runs = [this.#rights, this.#targets].map((sweeper) => new SweeperRun(sweeper, ports));
  }

  changed(change: RightsChange): void {
    this.#rights.changed(change);
  }

  /** Begins what is due, and waits for its end. */
  async sweep(): Promise<void> {
    for (const run of this.#runs) await run.pass();
    for (const run of this.#runs) await run.end();
  }

  get isIdle(): boolean {
    return this.#rights.isIdle && this.#targets.isIdle;
  }
}

describe('the invalidation sweepers', () => {
  let home: Rig;
  let rig: ApprovalRig;
  let boss: Caller;
  let sweeper: Invalidation;
  let settle: () => Promise<void>;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    home = await openRig();
    rig = approvalRig();
    boss = rig.person('usr_boss', 'owner');
    const projector = await home.start({ events: rig.events, projections: [approvals] });
    stop = () => projector.close();
    settle = async () => {
      await projector.readModels.waitFor(await rig.events.headPosition(), 3_000);
    };
    sweeper = newSweeper();
    await sweep();
  });
  afterEach(async () => {
    await stop();
    await home[Symbol.asyncDispose]();
  });

  const newSweeper = () => new Invalidation({ ...rig.ports, sql: home.sql });
  const sweep = async (by = sweeper): Promise<void> => {
    await settle();
    await eventually(async () => {
      await by.sweep();
      return by.isIdle;
    });
  };
  const mapOf = <Entry>(map: ReadonlyMap<string, Entry>): Map<string, Entry> => map as Map<string, Entry>;
  const directory = () => rig.ports.directory.state;
  const ask = (...ids: readonly string[]): Promise<OperationReply> =>
    rig.ask(ids.length > 0 ? ids : [rig.arrive('INBOX')], 'archive');
  const approve = ({ approval }: OperationReply) =>
    rig.approvalAs(boss, decideApproval, {
      approval_id: approval?.id,
      decision: 'approve',
      content_hash: approval?.content_hash,
    });
  const endOfApproval = async (reply: OperationReply): Promise<string | null> => {
    const { approval } = await rig.stateOf(reply);
    const end = endOf(approval);
    return end?.status === 'invalidated' ? end.why.reason : (end?.status ?? null);
  };
  const regrant = (change: Partial<GrantEntry> | null): void => {
    const grants = mapOf(directory().grants);
    const entry = grants.get('grt_0');
    if (entry !== undefined && change !== null) grants.set('grt_0', { ...entry, ...change });
    if (change === null) {
      grants.delete('grt_0');
      (directory().grantIds as Map<string, Map<string, string>>).get(BOX)?.delete('usr_1');
    }
    sweeper.changed({ principals: ['usr_1'], mailboxes: [] });
  };
  const changeMailbox = (change: Partial<MailboxEntry>): void => {
    const mailboxes = mapOf(directory().mailboxes);
    const entry = mailboxes.get(BOX);
    if (entry) mailboxes.set(BOX, { ...entry, ...change });
    sweeper.changed({ principals: [], mailboxes: [BOX] });
  };
  const observe = async (fact: Fact<(typeof feedEvents)[number]>): Promise<void> => {
    const stream = feedStream(BOX, WORLD_NOW);
    const { length } = await rig.events.readStream(stream);
    await appendFacts(rig.ports, sampleAuthor('org_1'), {
      stream,
      expected: length === 0 ? 'no-stream' : BigInt(length) - 1n,
      catalogue: catalogueOf(feedEvents),
      facts: [fact],
    });
  };
  const changes = (...all: readonly Pick<FeedChange, 'kind' | 'locator'>[]) =>
    observe({
      type: 'MailboxChangesObserved',
      data: {
        mailbox_id: BOX,
        folder: 1,
        uid_validity: rig.mailbox.folder('INBOX').uidValidity,
        changes: all.map((change) => ({ ...change, flags: [] })),
      },
    });
  /** Another client takes the newest message of INBOX away. */
  const takeAway = (): void => {
    const { messages } = rig.mailbox.folder('INBOX');
    messages.delete(Math.max(...messages.keys()));
  };

  it(`end approvals when their grant is revoked, and keep them ended under a new grant ${verifies('contract:10:ground-gone')}`, async () => {
    const asked = await ask();
    const granted = await ask();
    await approve(granted);
    const entry = held(directory().grants, 'grt_0');
    regrant(null);
    await sweep();
    expect([await endOfApproval(asked), await endOfApproval(granted)]).to.deep.equal([
      'grant_gone',
      'grant_gone',
    ]);
    mapOf(directory().grants).set('grt_9', { ...entry, id: 'grt_9' });
    (directory().grantIds as Map<string, Map<string, string>>).get(BOX)?.set('usr_1', 'grt_9');
    expect(await rejection(approve(asked))).to.include({ code: 'approval_invalidated' });
    const commit = rig.invokeAs(rig.caller, commitApproval, { approval_id: granted.approval?.id });
    expect(await rejection(commit)).to.include({ code: 'approval_invalidated' });
    expect(rig.mailbox.effects).to.deep.equal([]);
  });

  it(`refuse a vote that arrives before the sweep, also under a new grant ${verifies('contract:10:ground-gone')}`, async () => {
    const narrowed = await ask();
    const scopes = directory().grants.get('grt_0')?.scopes ?? [];
    regrant({ scopes: scopes.filter((scope) => scope !== 'messages:archive') });
    expect(await rejection(approve(narrowed))).to.include({ code: 'approval_invalidated' });
    expect(await endOfApproval(narrowed)).to.equal('grant_gone');
    regrant({ scopes });
    const renewed = await ask();
    regrant({ createdAt: new Date(WORLD_NOW.getTime() + 1_000).toISOString() });
    expect(await rejection(approve(renewed))).to.include({ code: 'approval_invalidated' });
    expect(await endOfApproval(renewed)).to.equal('grant_gone');
  });

  it(`end approvals when a grant expires, a token is revoked or an approver loses the role ${verifies('contract:10:ground-gone')}`, async () => {
    const expiring = await ask();
    regrant({ expiresAt: new Date(WORLD_NOW.getTime() + 30_000).toISOString() });
    await sweep();
    expect(await endOfApproval(expiring)).to.equal(null);
    rig.at(30);
    await sweep();
    expect(await endOfApproval(expiring)).to.equal('grant_gone');
    regrant({ expiresAt: null });
    const approved = await ask();
    await approve(approved);
    seatMember(directory(), 'org_1', 'usr_boss', 'member');
    sweeper.changed({ principals: ['usr_boss'], mailboxes: [] });
    await sweep();
    expect(await endOfApproval(approved)).to.equal('approver_gone');
    rig.person('usr_other', 'approver');
    const byToken = await ask();
    const token = held(directory().tokens, 'tok_1');
    mapOf(directory().tokens).set('tok_1', { ...token, revokedAt: WORLD_NOW.toISOString() });
    sweeper.changed({ principals: ['usr_1'], mailboxes: [] });
    await sweep();
    expect(await endOfApproval(byToken)).to.equal('requester_gone');
  });

  it(`end approvals when another client moved a message, and keep those whose message only seemed moved ${verifies('contract:10:ground-gone')}`, async () => {
    const there = rig.arrive('INBOX');
    const stays = await ask(there);
    const gone = rig.arrive('INBOX');
    const goes = await ask(gone);
    takeAway();
    await changes({ kind: 'deleted', locator: there }, { kind: 'deleted', locator: gone });
    await sweep();
    expect([await endOfApproval(stays), await endOfApproval(goes)]).to.deep.equal([null, 'targets_gone']);
  });

  it(`end approvals, granted ones too, when an operation of the gateway moved a message ${verifies('contract:10:ground-gone')}`, async () => {
    const id = rig.arrive('INBOX');
    const asked = await ask(id);
    const granted = await ask(id);
    await approve(granted);
    const select = { message_ids: [id] };
    const trashed = await rig.reply(actOnEmail, {
      operation: { type: 'message_actions', select, actions: [{ type: 'trash' }] },
    });
    expect(trashed.summary?.done).to.equal(1);
    await sweep();
    expect([await endOfApproval(asked), await endOfApproval(granted)]).to.deep.equal([
      'targets_gone',
      'targets_gone',
    ]);
  });

  it(`end approvals when their folder has a new UIDVALIDITY or is gone, and keep others ${verifies('contract:4:reset-invalidates')}`, async () => {
    const inbox = await ask();
    const work = await ask(rig.arrive('Work'));
    const junk = await ask(rig.arrive('Junk'));
    const folder = rig.mailbox.folder('INBOX');
    folder.messages.clear();
    Object.assign(folder, { uidValidity: folder.uidValidity + 1 });
    const about = { mailbox_id: BOX, folder: 1, uid_validity: folder.uidValidity };
    await observe({ type: 'FolderReset', data: { ...about, previous_uid_validity: 1 } });
    await sweep();
    expect([await endOfApproval(inbox), await endOfApproval(work)]).to.deep.equal(['targets_gone', null]);
    const { folders } = held(directory().mailboxes, BOX);
    const without = folders.map((each) =>
      each.path === 'Junk' ? { ...each, availability: 'missing' as const } : each,
    );
    changeMailbox({ folders: without });
    await sweep();
    expect([await endOfApproval(junk), await endOfApproval(work)]).to.deep.equal(['targets_gone', null]);
    changeMailbox({ state: 'removed' });
    await sweep();
    expect(await endOfApproval(work)).to.equal('mailbox_removed');
  });

  it('end approvals when the change happened while no sweeper ran', async () => {
    const id = rig.arrive('INBOX');
    const moved = await ask(id);
    const unentitled = await ask(rig.arrive('Work'));
    rig.mailbox.folder('INBOX').messages.clear();
    await changes({ kind: 'moved', locator: id });
    const { folderRoles: _, ...grant } = held(directory().grants, 'grt_0');
    mapOf(directory().grants).set('grt_0', { ...grant, folderRoles: ['inbox', 'archive'] });
    await sweep(newSweeper());
    expect([await endOfApproval(moved), await endOfApproval(unentitled)]).to.deep.equal([
      'targets_gone',
      'grant_gone',
    ]);
  });

  it(`continue past an unreadable approval and past an unreachable mail server ${verifies('contract:10:ground-gone')}`, async () => {
    const unread = await ask();
    const others = [await ask(), await ask()];
    const suspected = rig.arrive('INBOX');
    const away = await ask(suspected);
    await changes({ kind: 'deleted', locator: suspected });
    rig.mail.failure = new GatewayError('mailbox_unavailable', 'No connection.');
    const readStream = rig.events.readStream.bind(rig.events);
    rig.events.readStream = (stream) =>
      stream === `operation-${unread.operation_id ?? ''}`
        ? Promise.reject(new GatewayError('store_unavailable', 'Away.'))
        : readStream(stream);
    regrant(null);
    await settle();
    await sweeper.sweep();
    await sweeper.sweep();
    rig.events.readStream = readStream;
    expect(await Promise.all([...others, away].map(endOfApproval))).to.deep.equal([
      'grant_gone',
      'grant_gone',
      'grant_gone',
    ]);
    expect(await endOfApproval(unread)).to.equal(null);
    rig.at(600);
    await sweep();
    expect(await endOfApproval(unread), 'tried again').to.equal('grant_gone');
  });
});
