/** The evidence of an approval: what was shown, who decided when, what was sent, all under one signed checkpoint. */
import { actionButton } from './action-button.js';
import { isOwnRequest } from './approval-rights.js';
import { VERIFY_PAGE } from './audit-verify-card.js';
import { disclosureField, disclosureIn } from './disclosure-field.js';
import { h } from './dom.js';
import { card } from './page-parts.js';
import { readEvidence } from './routes.js';
import { saveAs } from './save-as.js';

/** @import { Approval } from './payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */

/** @type {readonly (readonly [format: 'html' | 'jsonl', label: string])[]} */
const FILES = [
  ['html', 'Save for printing'],
  ['jsonl', 'Save for verifying'],
];

/** @type {Readonly<Record<string, string>>} */
const NEXT = {
  seal_behind: 'Its newest lines are not sealed yet. Try again in a minute.',
  insufficient_scope: 'Owners, admins, auditors, the requester and approvers get it.',
};

/**
 * Whether this person may get it, as far as this page knows; the gateway decides.
 * @param {Approval} approval
 * @param {Names} names
 */
export const mayGetEvidence = (approval, names) =>
  names.may('audit:export') ||
  isOwnRequest(approval) ||
  names.hasRole(approval.quorum.approver_role) ||
  approval.votes.some(({ by }) => names.isMe(by));

/**
 * @param {string} approvalId
 * @param {{ names: Names, signal: AbortSignal }} context
 */
export function evidenceSection(approvalId, { names, signal }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const form = h('form', null, disclosureField(names, 'people'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
  });
  const buttons = FILES.map(([format, label]) =>
    actionButton(label, {
      problem,
      next: NEXT,
      about: 'the evidence',
      act: async () => {
        const query = { format, ...disclosureIn(new FormData(form)) };
        const { bytes } = await readEvidence(approvalId, query, signal);
        saveAs(`evidence-${approvalId}.${format}`, bytes);
      },
    }),
  );
  return card(
    'evidence',
    'Evidence',
    h(
      'p',
      null,
      'What was asked for, the preview that was shown, who voted when, the policy and what became of it, under one signed checkpoint. Anyone can verify it.',
    ),
    form,
    h('div', { class: 'toolbar' }, buttons),
    problem,
    h(
      'p',
      { class: 'quiet small' },
      h('a', { href: VERIFY_PAGE }, 'Verify a file'),
      names.may('holds:manage')
        ? [' · ', h('a', { href: `#/holds/new?target=${approvalId}` }, 'Place a legal hold on this approval')]
        : null,
    ),
  );
}
