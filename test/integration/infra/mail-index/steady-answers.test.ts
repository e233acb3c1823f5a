import { expect } from 'chai';
import type { MailQuery } from '../../../../commands/mail/query.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { IndexAnswer, MirroredMessage } from '../../../../infra/mail-index/folder-mirror.ts';
import { PostgresMailIndex } from '../../../../infra/mail-index/postgres-mirror.ts';
import {
  FENCE_OF_TEST,
  MAILBOX_ID,
  MAILBOX_NUMBER,
  openIndex,
  testLocators,
  WHOLE,
} from '../../../support/worlds/filled-mirror.ts';
import { INBOX, queryOf } from '../../../support/worlds/mail-gateway.ts';

const SEEDED = 100;
/** Found by a hash, each is checked. */
const CHECKED = { any: [{ message_id_header: '<nobody@example.com>' }, { size_min: 1 }] };

const message = (uid: number): MirroredMessage => ({
  ref: { folder: INBOX, uidValidity: 9, uid },
  seen: false,
  flagged: false,
  answered: false,
  draft: false,
  deleted: false,
  keywords: [],
  size: 100,
  receivedAt: new Date(1_700_000_000_000 + uid * 1_000),
  sentAt: null,
  messageId: `<${String(uid)}@example.com>`,
  inReplyTo: null,
  references: [],
  subject: `Subject ${String(uid)}`,
  from: [{ name: 'Anna', email: 'anna@example.com' }],
  to: [],
  cc: [],
  bcc: [],
  replyTo: [],
  autoSubmitted: null,
  hasAttachments: false,
  attachments: [],
  // All one conversation.
  threadRoot: '<1@example.com>',
});

describe('an answer of several statements', function () {
  this.timeout(60_000);
  let sql: Sql;
  let index: PostgresMailIndex;
  let close: () => Promise<void>;
  let last: number;

  beforeEach(async () => {
    ({ sql, index, close } = await openIndex());
    last = 0;
    await arrive(SEEDED);
  });
  afterEach(() => close());

  /** The feed tells one event for each batch: the position of the last is the last UID. */
  const arrive = async (count = 1): Promise<void> => {
    const added = Array.from({ length: count }, (_, at) => message(last + 1 + at));
    last += count;
    const mirror = {
      uidValidity: 9,
      uidNext: last + 1,
      indexedFrom: 1,
      highestModseq: BigInt(last),
      total: last,
      checkedAt: new Date(),
      feedPosition: BigInt(last),
      invalidations: 0,
    };
    const about = { mailboxNumber: MAILBOX_NUMBER, folderNumber: INBOX.number };
    await index.apply(MAILBOX_ID, FENCE_OF_TEST, {
      ...about,
      reset: false,
      added,
      flags: [],
      removedUids: [],
      mirror,
    });
  };

  /** The same index, to which a message comes after each of the first `times` statements of a query. */
  const disturbed = (times: number): PostgresMailIndex => {
    let left = times;
    const between: Sql = {
      transaction: (work) => sql.transaction(work),
      query: async (text, values) => {
        const rows = await sql.query<never>(text, values);
        left -= 1;
        if (left >= 0) await arrive();
        return rows;
      },
    };
    return new PostgresMailIndex(between, testLocators);
  };

  const QUERIES: Record<string, Partial<MailQuery>> = {
    'a page of threads': { byThread: true, limit: 1 },
    // 64 candidates at once, and then more.
    'a page of a filter that SQL alone cannot decide': { filter: CHECKED, limit: 80 },
    'a count of such a filter': { filter: CHECKED, countOnly: true },
    'a page of words in the order of their text': {
      filter: { subject_contains: 'ject 1' },
      order: 'subject_asc',
      limit: 50,
    },
  };
  const shown = (answer: IndexAnswer | null): unknown =>
    answer && {
      uids: (answer.threads?.flat() ?? answer.messages).map(({ ref }) => ref.uid),
      count: answer.count,
      asOf: answer.states[0]?.feedPosition,
    };

  for (const [name, fields] of Object.entries(QUERIES)) {
    it(`is read from one state of the mirror: ${name}`, async () => {
      const answer = shown(await disturbed(2).query(WHOLE, queryOf(fields)));
      expect(answer).to.deep.equal(shown(await index.query(WHOLE, queryOf(fields))));
      expect(answer).to.include({ asOf: BigInt(SEEDED + 2) });
    });

    it(`is read from the mail server while the mirror keeps changing: ${name}`, async () => {
      expect(await disturbed(100).query(WHOLE, queryOf(fields))).to.equal(null);
      expect(last, 'three attempts of two statements').to.equal(SEEDED + 6);
    });
  }
});
