/** The demo mailbox's content: the same people, threads and newsletters every time, dated back from `now`. */
import { composeMessage, type SeedAttachment, type SeedContent, type SeedPerson } from './seed-message.ts';
import { NEWSLETTERS, PEOPLE, PROJECT_FILES, PROJECTS, SMALL_TALK, TOPICS } from './seed-phrases.ts';

export interface SeedMail {
  readonly folder: string;
  readonly flags: readonly string[];
  readonly receivedAt: Date;
  readonly raw: string;
}

const HOUR_MS = 3_600_000;
const THREADS = 60;
const REPLIES = [0, 1, 2, 3, 4];
const NEWSLETTER_ISSUES = 90;
const NOTICES = 40;

const pick = <T>(items: readonly T[], at: number): T => {
  const item = items[at % items.length];
  if (item === undefined) throw new Error('There is nothing to pick from.');
  return item;
};

interface Draft extends Omit<SeedContent, 'sentAt' | 'messageId'> {
  readonly folder: string;
  readonly flags: readonly string[];
  readonly hoursAgo: number;
  readonly id: string;
}

/** All messages, oldest first in each folder, so that UIDs follow the time. */
export function seedContent(me: SeedPerson, now: Date): readonly SeedMail[] {
  const drafts = [...threads(me), ...newsletters(me), ...notices(me), ...unfinished(me), ...junk(me)];
  return drafts
    .toSorted((a, b) => b.hoursAgo - a.hoursAgo)
    .map(({ folder, flags, hoursAgo, id, ...content }) => {
      const sentAt = new Date(now.getTime() - hoursAgo * HOUR_MS);
      sentAt.setUTCMilliseconds(0);
      return {
        folder,
        flags,
        receivedAt: sentAt,
        raw: composeMessage({ ...content, sentAt, messageId: id }),
      };
    });
}

const threadFolders = ['INBOX', 'Archive', 'INBOX', ...PROJECTS.map((name) => `Projects/${name}`), 'INBOX'];

/** Conversations of up to five messages; what I wrote lies in Sent. */
function* threads(me: SeedPerson): Generator<Draft> {
  for (let thread = 0; thread < THREADS; thread += 1) {
    const topic = pick(TOPICS, thread);
    const other = pick(PEOPLE, thread);
    const folder = pick(threadFolders, thread);
    const ids: string[] = [];
    for (const reply of REPLIES.slice(0, 1 + (thread % REPLIES.length))) {
      const isMine = reply % 2 === 1;
      const id = `<thread-${String(thread)}-${String(reply)}@example.com>`;
      const question = pick(topic.lines, reply);
      yield {
        folder: isMine ? 'Sent' : folder,
        flags: threadFlags(thread, reply, isMine),
        hoursAgo: (THREADS - thread) * 20 + (REPLIES.length - reply) * 3 + 1,
        id,
        from: isMine ? me : other,
        to: isMine ? [other] : [me],
        ...(thread % 4 === 0 ? { cc: [pick(PEOPLE, thread + 3)] } : {}),
        subject: `${reply === 0 ? '' : 'Re: '}${topic.subject} (${String(1 + Math.floor(thread / TOPICS.length))})`,
        references: [...ids],
        text: letter(isMine ? other : me, isMine ? me : other, question, pick(SMALL_TALK, thread + reply)),
        ...(reply === 0 && thread % 3 === 0 ? { attachments: [attachment(thread)] } : {}),
      };
      ids.push(id);
    }
  }
}

function threadFlags(thread: number, reply: number, isMine: boolean): readonly string[] {
  const isUnread = !isMine && thread > THREADS - 20 && reply % 4 === 0;
  return [
    ...(isUnread ? [] : ['\\Seen']),
    ...(thread % 9 === 0 && reply === 0 ? ['\\Flagged'] : []),
    ...(!isMine && reply + 1 < 1 + (thread % REPLIES.length) ? ['\\Answered'] : []),
    ...(thread % 7 === 0 ? ['$Work'] : []),
  ];
}

const letter = (to: SeedPerson, from: SeedPerson, line: string, talk: string): string =>
  `Hi ${to.name.split(' ')[0] ?? ''},\n\n${line}\n\n${talk}\n\nBest,\n${from.name}\n`;

function attachment(at: number): SeedAttachment {
  const { filename, contentType } = pick(PROJECT_FILES, at);
  const rows = Array.from(
    { length: 20 + (at % 30) },
    (_, row) => `${String(row)};${String((row * 37 + at) % 101)}`,
  );
  return { filename, contentType, content: rows.join('\n') };
}

function* newsletters(me: SeedPerson): Generator<Draft> {
  for (let issue = 0; issue < NEWSLETTER_ISSUES; issue += 1) {
    const { sender, title, stories } = pick(NEWSLETTERS, issue);
    const number = 1 + Math.floor(issue / NEWSLETTERS.length);
    const items = [0, 1, 2].map((at) => pick(stories, at + issue));
    const links = items.map(
      (item, at) => `<li><a href="https://news.example.org/${String(issue)}/${String(at)}">${item}</a></li>`,
    );
    yield {
      folder: issue % 3 === 2 ? 'Archive' : 'INBOX',
      flags: issue % 5 === 0 ? [] : ['\\Seen'],
      hoursAgo: (NEWSLETTER_ISSUES - issue) * 14 + 2,
      id: `<issue-${String(issue)}@news.example.org>`,
      from: sender,
      to: [me],
      subject: `${title} #${String(number)}: ${items[0] ?? ''}`,
      text: `${title} #${String(number)}\n\n${items.map((item) => `* ${item}`).join('\n')}\n`,
      html:
        `<html><head><style>h1 { color: #333 }</style></head><body><h1>${title} #${String(number)}</h1>` +
        `<p>Good morning!</p><ul>${links.join('')}</ul>` +
        `<p><small>You get this because you subscribed. <a href="https://news.example.org/off">Unsubscribe</a></small></p></body></html>`,
      headers: [
        'List-Id: <news.example.org>',
        'List-Unsubscribe: <https://news.example.org/off>',
        'Precedence: bulk',
      ],
    };
  }
}

/** Machines that write. */
function* notices(me: SeedPerson): Generator<Draft> {
  const robot: SeedPerson = { name: 'Build Robot', email: 'robot@ci.example.com' };
  for (let at = 0; at < NOTICES; at += 1) {
    const state = at % 6 === 0 ? 'failed' : 'passed';
    yield {
      folder: at % 2 === 0 ? 'INBOX' : 'Trash',
      flags: at % 8 === 0 ? [] : ['\\Seen'],
      hoursAgo: (NOTICES - at) * 9 + 0.5,
      id: `<build-${String(at)}@ci.example.com>`,
      from: robot,
      to: [me],
      subject: `Build ${String(1_200 + at)} ${state}: ${pick(PROJECTS, at)}`,
      text: `Build ${String(1_200 + at)} of ${pick(PROJECTS, at)} ${state} after ${String(3 + (at % 9))} minutes.\n`,
      headers: ['Auto-Submitted: auto-generated'],
    };
  }
}

function* unfinished(me: SeedPerson): Generator<Draft> {
  for (let at = 0; at < 4; at += 1) {
    const topic = pick(TOPICS, at + 2);
    yield {
      folder: 'Drafts',
      flags: ['\\Draft', '\\Seen'],
      hoursAgo: 30 - at * 5,
      id: `<draft-${String(at)}@example.com>`,
      from: me,
      to: [pick(PEOPLE, at + 1)],
      subject: topic.subject,
      text: `${pick(topic.lines, at)}\n\n(to be continued)\n`,
    };
  }
}

function* junk(me: SeedPerson): Generator<Draft> {
  for (let at = 0; at < 12; at += 1) {
    yield {
      folder: 'Junk',
      flags: at % 2 === 0 ? [] : ['\\Seen'],
      hoursAgo: 11 + at * 17,
      id: `<prize-${String(at)}@lucky.example.net>`,
      from: { name: 'Prize Department', email: `winner${String(at)}@lucky.example.net` },
      to: [me],
      subject: `You have won a prize worth ${String(100 * (at + 1))} €!!!`,
      text: 'Dear winner,\n\nanswer today with your bank details to receive your prize.\n',
    };
  }
}
