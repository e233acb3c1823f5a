import { expect } from 'chai';
import fc from 'fast-check';
import { foldText } from '../../../../commands/mail/fold-text.ts';
import type { Filter } from '../../../../commands/mail/mail-filter.ts';
import { FILTER_KEYS, FilterSchema } from '../../../../commands/mail/mail-filter.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import {
  leafKeys,
  leafName,
  type MatchContext,
  matches,
  serverLeaves,
} from '../../../../commands/mail/matches.ts';
import { filterArbitrary, messageArbitrary } from '../../../support/models/message-arbitrary.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const context: MatchContext = {
  serverSays: () => false,
};

const message: FetchedMessage = {
  ref: { folder: { number: 3, path: 'INBOX' }, uidValidity: 9, uid: 5 },
  seen: true,
  flagged: false,
  answered: true,
  draft: false,
  keywords: ['$Work'],
  size: 2_000,
  receivedAt: new Date('2026-02-01T10:00:00.000Z'),
  sentAt: new Date('2026-02-01T09:59:00.000Z'),
  messageId: '<one@example.com>',
  inReplyTo: null,
  references: [],
  subject: 'Grüße aus der Hauptstraße – ﬁnal',
  from: [{ name: 'Zoë Ångström', email: 'zoe@Mail.Example.com' }],
  to: [{ name: null, email: 'anna@example.org' }],
  cc: [{ name: 'Team', email: 'team@example.org' }],
  bcc: [],
  replyTo: [{ name: null, email: 'answers@example.net' }],
  autoSubmitted: null,
  hasAttachments: true,
  attachments: [
    {
      part: 2,
      filename: 'Résumé.pdf',
      contentType: 'application/pdf',
      size: 9,
      inline: false,
      contentId: null,
    },
  ],
  threadRoot: '<root@example.com>',
  threadId: 'thr_root',
  mergedThreads: ['thr_other'],
};

const cases: readonly (readonly [Filter, boolean])[] = [
  [{}, true],
  [{ seen: true }, true],
  [{ seen: false }, false],
  [{ flagged: false }, true],
  [{ answered: false }, false],
  [{ draft: true }, false],
  [{ has_attachment: true }, true],
  [{ subject_contains: 'GRUSSE' }, true],
  [{ subject_contains: 'hauptstrasse' }, true],
  [{ subject_contains: 'final' }, true],
  [{ subject_contains: 'finale' }, false],
  [{ from_contains: 'zoe ang' }, true],
  [{ from_contains: 'mail.example' }, true],
  [{ from_contains: 'anna' }, false],
  [{ to_contains: 'ANNA@' }, true],
  [{ cc_contains: 'team' }, true],
  [{ any_address: 'answers' }, true],
  [{ any_address: 'nobody' }, false],
  [{ from_domain: 'mail.example.com' }, true],
  [{ from_domain: 'example.com' }, false],
  [{ received_after: '2026-02-01T10:00:00.000Z' }, true],
  [{ received_after: '2026-02-01T10:00:00.001Z' }, false],
  [{ received_before: '2026-02-01T10:00:00.000Z' }, false],
  [{ received_before: '2026-02-01T11:00:00.001+01:00' }, true],
  [{ sent_after: '2026-02-01T09:59:00Z', sent_before: '2026-02-01T09:59:01Z' }, true],
  [{ size_min: 2_000, size_max: 2_000 }, true],
  [{ size_min: 2_001 }, false],
  [{ size_max: 1_999 }, false],
  [{ keyword: '$work' }, true],
  [{ not_keyword: '$WORK' }, false],
  [{ not_keyword: 'other' }, true],
  [{ thread_id: 'thr_root' }, true],
  [{ thread_id: 'thr_other' }, true],
  [{ thread_id: 'thr_one' }, false],
  [{ message_id_header: 'one@example.com' }, true],
  [{ message_id_header: '<ONE@example.com>' }, false],
  [{ attachment_name_contains: 'resume' }, true],
  [{ any: [{ seen: false }, { size_min: 1 }] }, true],
  [{ any: [{ seen: false }] }, false],
  [{ all: [{ seen: true }, { not: { draft: true } }], flagged: false }, true],
  [{ not: { seen: true, flagged: true } }, true],
  [{ body_contains: 'x' }, false],
  [{ header: { name: 'X-Mailer', contains: '' } }, false],
];

describe(`matches ${verifies('contract:4:filter-keys', 'contract:4:filter-groups', 'contract:4:after-before', 'contract:4:folded-matching')}`, () => {
  for (const [filter, expected] of cases) {
    it(`evaluates ${JSON.stringify(filter)} to ${String(expected)}`, () => {
      expect(matches(message, filter, context)).to.equal(expected);
    });
  }

  it(`covers every key of the filter schema ${verifies('contract:4:filter-keys')}`, () => {
    const everything = Object.fromEntries(FILTER_KEYS.map((key) => [key, 'x']));
    expect([...leafKeys(everything)].sort()).to.deep.equal([...FILTER_KEYS].sort());
  });

  it(`accepts groups at most four deep with at most fifty conditions ${verifies('contract:4:filter-groups')}`, () => {
    const nested = (depth: number): Filter => (depth === 0 ? { seen: true } : { not: nested(depth - 1) });
    const wide = (leaves: number): Filter => ({
      seen: true,
      any: Array.from({ length: leaves - 1 }, (_, index) => ({ size_min: index })),
    });
    for (const taken of [nested(4), wide(50)]) expect(FilterSchema.safeParse(taken).success).to.equal(true);
    for (const refused of [nested(5), wide(51), { all: [wide(26), wide(26)] }, { any: [] }]) {
      expect(FilterSchema.safeParse(refused).success).to.equal(false);
    }
  });

  it('refuses text that no message can contain', () => {
    for (const value of ['a\0b', '\uD800', 'x\uDC00']) {
      expect(FilterSchema.safeParse({ subject_contains: value }).success).to.equal(false);
      expect(FilterSchema.safeParse({ not: { header: { name: 'X', contains: value } } }).success).to.equal(
        false,
      );
    }
    expect(FilterSchema.safeParse({ subject_contains: '\u{1F600}\t' }).success).to.equal(true);
  });

  it('finds no date in a message without one', () => {
    const undated = { ...message, sentAt: null };
    expect(matches(undated, { sent_after: '1970-01-01T00:00:00Z' }, context)).to.equal(false);
    expect(matches(undated, { not: { sent_before: '2100-01-01T00:00:00Z' } }, context)).to.equal(true);
  });

  it("uses the mail server's answers for its conditions, also inside groups", () => {
    const filter: Filter = {
      not: { body_contains: 'secret' },
      any: [{ body_contains: 'secret' }, { header: { name: 'List-Id', contains: 'dev' } }],
    };
    const names = serverLeaves(filter).map(leafName);
    expect(names).to.have.length(2);
    const says: MatchContext = { ...context, serverSays: (leaf) => leaf.key === 'header' };
    expect(matches(message, filter, says)).to.equal(true);
    expect(matches(message, filter, { ...says, serverSays: () => true })).to.equal(false);
  });

  it('negates twice to the same result', () => {
    fc.assert(
      fc.property(messageArbitrary, filterArbitrary, (any, filter) => {
        expect(matches(any, { not: { not: filter } }, context)).to.equal(matches(any, filter, context));
      }),
    );
  });

  it("follows De Morgan's laws, and a conjunction equals all of its parts", () => {
    fc.assert(
      fc.property(messageArbitrary, filterArbitrary, filterArbitrary, (any, a, b) => {
        const notAny = matches(any, { not: { any: [a, b] } }, context);
        expect(notAny).to.equal(matches(any, { all: [{ not: a }, { not: b }] }, context));
        const both = matches(any, a, context) && matches(any, b, context);
        expect(matches(any, { all: [a, b] }, context)).to.equal(both);
      }),
    );
  });
});

describe('foldText', () => {
  it(`folds case, accents and compatibility forms ${verifies('contract:4:folded-matching')}`, () => {
    expect(foldText('ὈΔΌΣ')).to.equal(foldText('οδος'));
    expect(foldText('ﬁ')).to.equal('FI');
    expect(foldText('Ａ①')).to.equal('A1');
    expect(foldText('İstanbul')).to.equal(foldText('istanbul'));
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(foldText(foldText(text))).to.equal(foldText(text));
      }),
      { numRuns: 300 },
    );
  });

  it('takes bounded time for unordered combining marks', () => {
    const { user: before } = process.cpuUsage();
    expect(foldText(`a${'\u0301\u0316'.repeat(30_000)}`)).to.equal('A');
    expect(process.cpuUsage().user - before).to.be.below(100_000);
  });

  it('keeps a word of the text a substring of the folded text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.nat(), (parts, at) => {
        const part = parts[at % Math.max(1, parts.length)] ?? '';
        expect(foldText(parts.join(' ')).includes(foldText(part))).to.equal(true);
      }),
    );
  });
});
