/** One approval: the request, exactly what would run, the decision, and the outcome. */
import { ApiError } from './api.js';
import { attachmentsSection } from './approval-attachments.js';
import { decisionCard } from './approval-decision.js';
import { evidenceSection, mayGetEvidence } from './approval-evidence.js';
import { previewSection } from './approval-preview.js';
import { isOver } from './approval-rights.js';
import { summaryOf } from './approval-summary.js';
import { trailSection } from './approval-trail.js';
import { warningsSection } from './approval-warnings.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { foreignPlain, foreign, foreignLines } from './foreign-text.js';
import { backTo } from './page-parts.js';
import { monitorApprovals, readApproval, readOperation, readPreview } from './routes.js';
import { pastTime } from './times.js';
import { STATUSES, whatHappens, badge } from './wording.js';

/** @import { Approval, Operation, Preview } from './payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

const WAIT_SECONDS = 30;
const RETRY_MS = 5_000;
/** The trail follows the operation by a moment. */
const TRAIL_MS = 500;
const LAGS_AT_MOST_MS = 30_000;

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function approvalView(context, id) {
  const page = new ApprovalPage(context, id);
  const cursor = await page.cursor();
  await page.load();
  void page.follow(cursor);
  return { title: page.title, content: page.content };
}

class ApprovalPage {
  /** @type {ViewContext} */
  #context;
  /** @type {string} */
  #id;
  /** @type {Approval | null} */
  #approval = null;
  /** @type {Preview | Error | null} */
  #preview = null;
  #turn = 0;
  #trailLags = false;
  #problem = h('div');
  #head = h('div', { class: 'approval-head' });
  #about = h('div', { class: 'approval-about' });
  #decision = h('aside', { class: 'approval-decision', 'aria-label': 'Decision' });
  #trail = h('div');
  #evidence = h('div');
  /** @type {Map<Element, string>} */
  #drawn = new Map();

  /**
   * @param {ViewContext} context
   * @param {string} id
   */
  constructor(context, id) {
    this.#context = context;
    this.#id = id;
  }

  get title() {
    return this.#approval === null ? 'Approval' : foreignPlain(whatHappens(this.#approval));
  }

  get content() {
    return [
      backTo('#/approvals', 'Approvals'),
      this.#problem,
      this.#head,
      h(
        'div',
        { class: 'approval-page' },
        this.#about,
        this.#decision,
        h('div', { class: 'approval-trail' }, this.#trail, this.#evidence),
      ),
    ];
  }

  /** Where changes of the approval count from; asked before it is read, so that none is missed. */
  async cursor() {
    const { cursor } = await this.#monitor({ timeout_seconds: 0 });
    return cursor;
  }

  /** Reads the approval, what it would do and what happened so far, and shows what is new of it. */
  async load() {
    const { signal } = this.#context;
    const turn = (this.#turn += 1);
    const approval = await readApproval(this.#id, signal);
    const known = this.#preview instanceof Error ? null : this.#preview;
    const [preview, operation] = await Promise.all([
      known ?? orError(readPreview(this.#id, signal)),
      orError(readOperation(approval.operation_id, signal)),
    ]);
    // A newer read has started meanwhile.
    if (turn !== this.#turn) return;
    this.#context.names.learn(approval.names);
    const before = this.#approval;
    this.#approval = approval;
    this.#preview = preview;
    this.#trailLags = !(operation instanceof Error) && lags(operation);
    this.#draw(approval, operation);
    if (before !== null && before.status !== approval.status)
      this.#context.announce(STATUSES[approval.status].label);
  }

  /**
   * Waits for changes and shows them until the approval is over or the view is left. Errors are shown and retried.
   * @param {string} from
   */
  async follow(from) {
    const isLeft = () => this.#context.signal.aborted;
    /** @type {string | null} */
    let cursor = from;
    const next = async () => {
      if (this.#trailLags) {
        await pause(TRAIL_MS);
        await this.load();
        return;
      }
      cursor ??= await this.cursor();
      const answer = await this.#monitor({ cursor, timeout_seconds: WAIT_SECONDS });
      // After a timeout too: a vote that is not the last one changes no status.
      await this.load();
      cursor = answer.cursor;
    };
    while (!isLeft() && !this.#isSettled()) {
      const problem = await orError(next());
      if (isLeft()) return;
      this.#problem.replaceChildren(
        ...(problem ? [errorNotice(problem, { role: null, isRetried: true })] : []),
      );
      if (problem === undefined) continue;
      if (problem.code.startsWith('cursor_')) cursor = null;
      await pause(RETRY_MS);
    }
  }

  #isSettled() {
    return !this.#trailLags && this.#approval !== null && isOver(this.#approval);
  }

  /** @param {{ cursor?: string, timeout_seconds: number }} wait */
  #monitor(wait) {
    return monitorApprovals({ approval_ids: [this.#id], ...wait }, this.#context.signal);
  }

  async #reload() {
    const problem = await orError(this.load());
    if (problem) this.#problem.replaceChildren(errorNotice(problem));
  }

  /**
   * @param {Approval} approval
   * @param {Operation | Error} operation
   */
  #draw(approval, operation) {
    const { names } = this.#context;
    const preview = this.#preview;
    const shown = preview === null || preview instanceof Error ? null : shownBy(preview);
    const reload = () => void this.#reload();
    this.#put(this.#head, approval, () => headingOf(approval, names));
    this.#put(this.#about, [approval.content_hash, approval.reason, preview], () => [
      warningsSection(shown?.warnings ?? approval.warnings ?? []),
      reasonSection(approval, names),
      attachmentsSection(approval, approval.manifest, this.#context.signal),
      preview instanceof Error
        ? errorNotice(preview, { title: 'The preview cannot be shown' })
        : previewSection(approval, preview),
    ]);
    this.#put(this.#decision, [approval, shown], () => decisionCard({ approval, shown, names, reload }));
    this.#put(this.#trail, operation, () =>
      operation instanceof Error
        ? errorNotice(operation, { title: 'The trail cannot be shown', role: null })
        : trailSection(operation.events, names),
    );
    const mayGet = mayGetEvidence(approval, names);
    // Not with the trail: a reason that is being written stays.
    this.#put(this.#evidence, mayGet, () => (mayGet ? evidenceSection(approval.id, this.#context) : null));
  }

  /**
   * Redraws a part whose content has changed; the focus stays in it.
   * @param {HTMLElement} part
   * @param {unknown} shown
   * @param {() => import('./payloads.d.ts').Child} draw
   */
  #put(part, shown, draw) {
    const signature = shown instanceof Error ? shown.message : JSON.stringify(shown);
    if (this.#drawn.get(part) === signature) return;
    this.#drawn.set(part, signature);
    const hadFocus = part.contains(document.activeElement);
    part.replaceChildren(h('div', null, draw()));
    if (!hadFocus) return;
    const heading = part.querySelector('h1, h2');
    if (heading instanceof HTMLElement) heading.focus();
  }
}

/**
 * What the page shows for the decision; the preview has evaluated the warnings again.
 * @param {Preview} preview
 */
const shownBy = ({ content_hash: hash, warnings = [] }) => ({ hash, warnings });

/** @param {Operation} operation */
const lags = ({ events, updated_at: updatedAt }) =>
  (events.at(-1)?.occurred_at ?? '') < updatedAt && Date.now() - Date.parse(updatedAt) < LAGS_AT_MOST_MS;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T | ApiError>}
 */
async function orError(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 */
const reasonSection = ({ reason, mailbox_id: mailboxId }, names) =>
  h(
    'section',
    { class: 'card', 'aria-labelledby': 'why' },
    h('h2', { id: 'why', tabindex: -1 }, 'Why'),
    reason === null || reason === ''
      ? h('p', { class: 'quiet' }, 'No reason was given.')
      : h('blockquote', { class: 'reason' }, foreignLines(reason)),
    h('p', { class: 'quiet small' }, 'In the mailbox ', foreign(names.nameOf(mailboxId))),
  );

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 */
function headingOf(approval, names) {
  const { requester, created_at: createdAt, status } = approval;
  const behind = requester.on_behalf_of;
  return [
    h('h1', { tabindex: -1 }, foreign(whatHappens(approval))),
    summaryOf(approval),
    h(
      'p',
      { class: 'approval-meta' },
      badge(status),
      h(
        'span',
        { class: 'quiet' },
        'requested by ',
        foreign(names.nameOf(requester.id)),
        behind === undefined || behind === requester.id
          ? ''
          : [' on behalf of ', foreign(names.nameOf(behind))],
        requester.kind === 'delegated' ? ' by a token' : '',
        ', ',
        pastTime(createdAt),
      ),
    ),
  ];
}
