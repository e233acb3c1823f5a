import { expect } from 'chai';
import type { PersonSessionsEntry } from '../../../commands/ports/directory.ts';
import type { Sealed } from '../../../commands/values/sealed.ts';
import { changeSessions } from '../../../projections/directory-sessions.ts';
import { openSample, sealSample } from '../../support/samples/event-author.ts';

const DAY_MS = 86_400_000;
const START = Date.parse('2026-03-01T12:00:00.000Z');
const at = (milliseconds: number): string => new Date(START + milliseconds).toISOString();

type Fact = Parameters<typeof changeSessions>[1]['fact'];
const meta = (milliseconds: number) =>
  ({ occurred_at: at(milliseconds), org_id: 'org_1', actor: { client: 'sealed' } }) as Fact['meta'];
const started = (milliseconds: number): Fact => ({
  type: 'SessionStarted',
  data: {
    user_id: 'usr_1',
    secret_hash: sealSample(`hash ${String(milliseconds)}`),
    expires_at: at(milliseconds + DAY_MS / 2),
    stepped_up_until: at(milliseconds + 1_000),
  },
  meta: meta(milliseconds),
});
const ended = (milliseconds: number): Fact => ({
  type: 'SessionEnded',
  data: { user_id: 'usr_1', reason: 'logout' },
  meta: meta(milliseconds),
});

describe('changeSessions', () => {
  let known: PersonSessionsEntry | undefined;
  beforeEach(() => {
    known = undefined;
  });
  const happens = async (id: string, fact: Fact): Promise<readonly string[]> => {
    known = await changeSessions(id, { fact, position: 7n }, () => known, openSample);
    return known.sessions.map((session) => session.id);
  };

  it('stores what a request is authorized by', async () => {
    await happens('ses_1', started(0));
    expect(known).to.deep.equal({
      id: 'usr_1',
      sessions: [
        {
          id: 'ses_1',
          orgId: 'org_1',
          userId: 'usr_1',
          secretHash: 'hash 0',
          startedAt: at(0),
          position: '7',
          expiresAt: at(DAY_MS / 2),
          steppedUpUntil: at(1_000),
          endedAt: null,
          client: 'sealed' as Sealed,
        },
      ],
    });
    await happens('ses_1', {
      type: 'SessionSteppedUp',
      data: { user_id: 'usr_1', until: at(5_000) },
      meta: meta(10),
    });
    await happens('ses_1', ended(20));
    expect(known?.sessions[0]).to.include({ steppedUpUntil: at(5_000), endedAt: at(20) });
  });

  it('removes a session a day after its end, at the next event', async () => {
    await happens('ses_1', started(0));
    await happens('ses_2', started(1));
    await happens('ses_2', ended(2));
    expect(await happens('ses_3', started(DAY_MS + 1))).to.deep.equal(['ses_1', 'ses_2', 'ses_3']);
    expect(await happens('ses_4', started(DAY_MS + 2))).to.deep.equal(['ses_1', 'ses_3', 'ses_4']);
    expect(await happens('ses_3', ended(DAY_MS * 1.5))).to.deep.equal(['ses_3', 'ses_4']);
  });

  it('keeps the hash of older events, which is in clear, and none of an erased person', async () => {
    const begun = started(0);
    const withVerifier = (secret_hash: unknown): Fact =>
      ({ ...begun, data: { ...begun.data, secret_hash } }) as Fact;
    await happens('ses_1', withVerifier({ clear: 'hash' }));
    await happens('ses_2', withVerifier('erased'));
    expect(known?.sessions.map(({ secretHash }) => secretHash)).to.deep.equal(['hash', null]);
  });

  it('ignores the end of a session whose start is no longer stored', async () => {
    await happens('ses_1', started(0));
    expect(await happens('ses_0', ended(1))).to.deep.equal(['ses_1']);
  });
});
