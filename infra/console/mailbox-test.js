/** A connection test, stage by stage. */
import { CHECK, CROSS, DASH } from './badges.js';
import { h, icon } from './dom.js';
import { msText } from './exchange.js';
import { foreign } from './foreign-text.js';

/** @import { ConnectionReport, ConnectionTest, Hosts, Stage } from './setup-payloads.d.ts' */

/** @type {readonly (readonly [Stage, string])[]} in order */
const STAGES = [
  ['egress', 'The gateway may connect to this server'],
  ['connect', 'The server answers'],
  ['tls', 'The connection is secure'],
  ['greeting', 'It is a mail server'],
  ['login', 'It accepts the sign-in'],
  ['ready', 'Ready'],
];

/** @type {Readonly<Partial<Record<Stage, string>>>} what to do when it ends there */
const NEXT = {
  egress:
    'Use a server on the public internet, with encryption. An operator can open others (EGRESS_ALLOW_MAIL).',
  connect: 'Check the name of the server and the port.',
  tls: 'Check the security, and the certificate of the server.',
  greeting: 'Check the port: another service may be there.',
  login: 'Check the user name and the password. Many providers ask for an app password.',
};

/** @param {ConnectionTest} test */
export const hasPassed = ({ imap, smtp }) => imap.ok && (smtp === null || smtp.ok);

/**
 * @param {ConnectionTest} test
 * @param {{ imap: Hosts, smtp: Hosts | null }} hosts
 */
export const testResult = (test, hosts) =>
  h(
    'div',
    { class: 'exchange' },
    part('Incoming mail (IMAP)', test.imap, hosts.imap),
    test.smtp === null || hosts.smtp === null ? null : part('Outgoing mail (SMTP)', test.smtp, hosts.smtp),
  );

/**
 * @param {string} title
 * @param {ConnectionReport} report
 * @param {Hosts} hosts
 */
function part(title, report, { host, security }) {
  const reached = STAGES.findIndex(([stage]) => stage === report.stage);
  const stages = STAGES.map(([stage, label], index) => ({ stage, label, index })).filter(
    ({ stage }) => stage !== 'tls' || security !== 'none',
  );
  return h(
    'section',
    { class: 'card' },
    h('h3', { class: 'test-title' }, title),
    h('p', { class: 'quiet small' }, foreign(host), ` · ${msText(report.latency_ms)}`),
    h(
      'ol',
      { class: 'stages', 'aria-label': title },
      stages.map(({ label, index }) => stageRow(label, outcomeOf(index, reached, report.ok))),
    ),
    report.ok ? null : problem(report),
  );
}

/**
 * @param {number} index
 * @param {number} reached
 * @param {boolean} ok
 * @returns {'good' | 'bad' | 'over'}
 */
function outcomeOf(index, reached, ok) {
  if (ok || index < reached) return 'good';
  return index === reached ? 'bad' : 'over';
}

const MARKS = { good: [CHECK, 'done'], bad: [CROSS, 'failed'], over: [DASH, 'not tried'] };

/**
 * @param {string} label
 * @param {'good' | 'bad' | 'over'} outcome
 */
function stageRow(label, outcome) {
  const [path = '', word = ''] = MARKS[outcome];
  return h(
    'li',
    { class: `stage ${outcome}` },
    icon(path),
    h('span', null, label),
    h('span', { class: 'unseen' }, `: ${word}`),
  );
}

/** @param {ConnectionReport} report */
const problem = ({ error, stage }) =>
  h(
    'div',
    { class: 'notice bad' },
    error === undefined ? null : h('p', null, foreign(error)),
    NEXT[stage] === undefined ? null : h('p', { class: 'quiet' }, NEXT[stage]),
  );
