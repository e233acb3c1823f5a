/** The last step of getting started: the agent's first read and first archive, as they happen. */
import { CHECK, CLOCK } from './badges.js';
import { h, icon } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { follow } from './keep-fresh.js';
import { syncProgress } from './mailbox-view.js';
import { readMailbox } from './mailbox-routes.js';
import { firstSteps } from './start-road.js';
import { exactTime } from './times.js';

/** @typedef {import('./start-view.js').StartPage} StartPage */

/** A prompt that makes the agent do it. */
const TRY = 'Ask it, for example: “Read the newest mail in my inbox, then archive it.”';

/** @param {StartPage} page */
export function watchAgent(page) {
  const { agent, mailbox, grant, token } = page.road;
  if (agent === null || mailbox === null) return null;
  const { signal, names, announce } = page.context;
  const sync = h('div');
  const list = h('ul', { class: 'stages firsts', 'aria-label': 'What the agent has done' });
  const problem = h('div');
  const end = h('div');
  const mayArchive = [grant, token].every((each) => each?.scopes.includes('messages:archive'));
  let shown = '';
  const look = async () => {
    const [now, steps] = await Promise.all([
      readMailbox(mailbox.id, signal),
      firstSteps({ agentId: agent.id, mailboxId: mailbox.id }, signal),
    ]);
    sync.replaceChildren(...(now.state === 'syncing' ? [syncProgress(now)] : []));
    const signature = JSON.stringify(steps);
    if (signature === shown) return false;
    shown = signature;
    const { readAt, archivedAt } = steps;
    list.replaceChildren(
      row('Its first read of a mail', readAt),
      ...(mayArchive ? [row('Its first archived mail', archivedAt)] : []),
    );
    if (readAt !== null) announce(`${foreignPlain(agent.name)} has read a mail.`);
    const isOver = readAt !== null && (archivedAt !== null || !mayArchive);
    if (!isOver) return false;
    names.isRoadDone = true;
    announce('The road is done.');
    end.replaceChildren(finished());
    return true;
  };
  follow(look, { signal, problem });
  return [
    h(
      'p',
      { class: 'quiet' },
      'Give the settings to ',
      foreign(agent.name),
      '. ',
      mayArchive ? TRY : 'Then ask it to read a mail.',
    ),
    mayArchive
      ? null
      : h('p', { class: 'quiet small' }, 'Its grant or its token does not allow it to archive.'),
    sync,
    list,
    problem,
    end,
  ];
}

/**
 * @param {string} label
 * @param {string | null} at
 */
const row = (label, at) =>
  h(
    'li',
    { class: `stage ${at === null ? 'over' : 'good'}` },
    icon(at === null ? CLOCK : CHECK),
    h('span', null, label, at === null ? ': waiting…' : [', ', exactTime(at)]),
  );

const finished = () =>
  h(
    'div',
    { class: 'notice', role: 'status' },
    h('p', { class: 'notice-title' }, 'Your agent works.'),
    h(
      'p',
      null,
      'What it wants to send waits for you under ',
      h('a', { href: '#/approvals' }, 'Approvals'),
      '.',
    ),
  );
