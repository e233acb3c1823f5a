import { expect } from 'chai';
import type { MailAnswer } from '../../../../commands/ports/mail-port.ts';
import type { MailQuery } from '../../../../commands/mail/query.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { MailIndex } from '../../../../infra/mail-index/folder-mirror.ts';
import type { QueryRouterOptions } from '../../../../infra/mail-index/query-router.ts';
import { BreakingProxy, type Ending } from '../../../support/servers/breaking-proxy.ts';
import { MODERN } from '../../../support/servers/imap-habits.ts';
import { PlainAccount } from '../../../support/servers/plain-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { ARCHIVE, INBOX, mailGateway, queryOf } from '../../../support/worlds/mail-gateway.ts';

const FOLDERS = [INBOX, ARCHIVE, { number: 3, path: 'Trash' }];

const QUERIES: Readonly<Record<string, Partial<MailQuery>>> = {
  'a list': {},
  'a list of several folders, the first of them empty': { folders: FOLDERS.toReversed() },
  'a search': { filter: { subject_contains: 'three' }, folders: FOLDERS },
  'a count': { filter: { seen: false }, countOnly: true, depth: 'place' },
  'another order': { order: 'subject_asc' },
  'a list with texts': { textChars: 100 },
};

type Outcome = MailAnswer | GatewayError;

describe('a query whose connection breaks', function () {
  this.timeout(120_000);
  let server: ScriptedImapServer;
  let proxy: BreakingProxy;

  before(async () => {
    server = await ScriptedImapServer.start(MODERN, new PlainAccount(['INBOX', 'Archive', 'Trash']));
    for (const [label, subject] of [
      ['INBOX', 'one'],
      ['INBOX', 'two'],
      ['Archive', 'three'],
    ] as const) {
      const raw = `From: b@example.org\r\nSubject: ${subject}\r\n\r\nThe text of ${subject}.\r\n`;
      server.account.deliver({ raw, labels: [label] });
    }
    proxy = await BreakingProxy.start(server.imap().port);
  });
  after(async () => {
    await proxy.close();
    await server.close();
  });

  const open = (queries?: QueryRouterOptions) =>
    mailGateway({ host: '127.0.0.1', port: proxy.port, security: 'none' }, 'anna', queries && { queries });

  /** Runs the query on a gateway that has answered it before, or not; `arm` sets what happens to the connection. */
  const run = async (
    query: MailQuery,
    { isWarm, queries }: { readonly isWarm: boolean; readonly queries?: QueryRouterOptions },
    arm: () => void,
  ): Promise<Outcome> => {
    const { gateway } = open(queries);
    try {
      if (isWarm) await gateway.query('mbx_test', query);
      arm();
      return await gateway.query('mbx_test', query);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    } finally {
      gateway.close();
    }
  };

  /** The answer of a query that nothing disturbs. */
  const whole = async (query: MailQuery, how: { isWarm: boolean; queries?: QueryRouterOptions }) => {
    const outcome = await run(query, how, () => {
      proxy.watch();
    });
    if (outcome instanceof GatewayError) throw outcome;
    return outcome;
  };

  /** A mirror that equals the server, and that no worker confirms: the server is asked before it answers. */
  const mirrorOf = ({ asOf, ...answer }: MailAnswer): QueryRouterOptions => {
    const states = FOLDERS.map(({ number, path }) => {
      const { uidValidity, uidNext, messages } = server.account.folder(path);
      const counts = { uidValidity, uidNext, messages: messages.size, highestModseq: null };
      const known = { feedPosition: 7n, attested: false, version: '1', threadsVersion: null };
      return { folderNumber: number, ...counts, ...known };
    });
    const index = {
      query: (_: unknown, { folders }: MailQuery) => {
        const asked = states.filter((state) => folders.some(({ number }) => number === state.folderNumber));
        return Promise.resolve({ ...answer, states: asked });
      },
      threads: () => Promise.resolve(null),
    };
    return {
      index: index as unknown as MailIndex,
      mailboxOf: () => ({ mailboxNumber: 1, folderNumbers: FOLDERS.map(({ number }) => number) }),
      headPosition: () => Promise.resolve(asOf < 0n ? 7n : asOf),
      // No poll is young enough to be used again.
      now: () => (clock += 10_000),
    };
  };
  let clock = 0;

  /** Breaks at the end of each line of the server, and within it. */
  const breaks = (lineEnds: readonly number[]): readonly (readonly [number, Ending])[] =>
    lineEnds.flatMap(
      (end) =>
        [
          [end, 'cut'],
          [end, 'bye'],
          [end - 3, 'cut'],
        ] as const,
    );

  const judge = (outcome: Outcome, right: MailAnswer, where: string): void => {
    if (outcome instanceof GatewayError) expect(outcome.code, where).to.equal('mailbox_unavailable');
    else expect(outcome, where).to.deep.equal(right);
  };

  for (const [name, fields] of Object.entries(QUERIES)) {
    for (const from of ['server', 'mirror'] as const) {
      for (const isWarm of [false, true]) {
        const kind = isWarm ? 'kept' : 'new';
        it(`answers completely or with mailbox_unavailable: ${name} from the ${from}, on a ${kind} connection`, async () => {
          const query = queryOf(fields);
          const live = await whole(query, { isWarm: false });
          const how = from === 'server' ? { isWarm } : { isWarm, queries: mirrorOf(live) };
          const right = await whole(query, how);
          const places = breaks(proxy.lineEnds);
          expect(places.length).to.be.greaterThan(3);
          for (const [after, ending] of places) {
            const outcome = await run(query, how, () => {
              proxy.breakAfter(after, ending);
            });
            judge(outcome, right, `${ending} after ${String(after)} bytes`);
          }
        });
      }
    }
  }
});
