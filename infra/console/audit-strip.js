/** The strip above the trail: what its seal is worth now. */
import { actionButton } from './action-button.js';
import { checkNow, readSeal, sealNow } from './audit-routes.js';
import { sealWords } from './audit-seal.js';
import { NEXT } from './audit-wording.js';
import { badgeOf } from './badges.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { whenChanged } from './live-list.js';
import { pastTime } from './times.js';

/** @import { SealFacts } from './audit-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** The strip asks less often than the list. */
const AGAIN_MS = 15_000;

export class SealStrip {
  /** @type {ViewContext} */
  #context;
  /** @type {(seq: number) => void} */
  #onSealed;
  #askedAt = 0;
  #said = h('div', { class: 'seal-said' });
  #told = h('div', { role: 'status' });
  #problem = h('div', { 'aria-live': 'assertive' });

  /**
   * @param {ViewContext} context
   * @param {(seq: number) => void} onSealed told up to which line the trail is sealed
   */
  constructor(context, onSealed) {
    this.#context = context;
    this.#onSealed = onSealed;
  }

  get content() {
    return h(
      'section',
      { class: 'card seal-strip', 'aria-label': 'Seal' },
      h('div', { class: 'seal-about' }, this.#said, this.#told, this.#problem),
      this.#context.names.may('audit:export')
        ? h('div', { class: 'toolbar' }, this.#checkButton(), this.#sealButton())
        : null,
    );
  }

  /** Throws `ApiError`. */
  async load() {
    this.#askedAt = Date.now();
    this.#draw(await readSeal(this.#context.signal));
  }

  /** Loads again after a while. Throws `ApiError`. */
  async look() {
    if (Date.now() - this.#askedAt >= AGAIN_MS) await this.load();
  }

  #checkButton() {
    return actionButton('Check now', {
      problem: this.#problem,
      next: NEXT,
      act: async () => {
        await checkNow();
        this.#told.replaceChildren(
          'The whole trail is computed again from the log, at most once an hour. The result stands here.',
        );
        await this.load();
      },
    });
  }

  #sealButton() {
    return actionButton('Seal now', {
      problem: this.#problem,
      next: NEXT,
      act: async () => {
        this.#told.replaceChildren('Sealing…');
        try {
          const { size } = await sealNow();
          this.#told.replaceChildren(`Sealed through line ${numberText(size)}.`);
        } catch (error) {
          this.#told.replaceChildren();
          throw error;
        }
        await this.load();
      },
    });
  }

  #draw = whenChanged((/** @type {SealFacts} */ facts) => {
    const { badge, reasons, sealedThrough, outside } = sealWords(facts);
    const [latest] = facts.checkpoints;
    this.#said.replaceChildren(
      h('p', { class: 'row wrap' }, badgeOf(badge), h('span', null, ...sentences(latest, outside, facts))),
      ...reasons.map((reason) => h('p', { class: 'quiet small' }, reason)),
    );
    this.#onSealed(sealedThrough);
  });
}

/** @param {number} value */
export const numberText = (value) => value.toLocaleString('en');

/**
 * @param {import('./audit-payloads.d.ts').Checkpoint | undefined} latest
 * @param {readonly import('./audit-seal.js').Outside[]} outside
 * @param {SealFacts} facts
 */
const sentences = (latest, outside, { verification }) => [
  latest === undefined
    ? 'Not sealed yet'
    : h('span', null, `Sealed through line ${numberText(latest.size)}, `, pastTime(latest.sealed_at)),
  ' · ',
  outside.length === 0
    ? 'nobody outside holds a checkpoint'
    : ['outside: ', outside.map(({ kind, name, at }, index) => [index === 0 ? '' : ', ', `${kind} `, foreign(name), ' ', pastTime(at)])], // prettier-ignore
  ' · ',
  checkedText(verification),
];

/** @param {import('./audit-payloads.d.ts').Verification} verification */
const checkedText = ({ verified_at: at, requested_at: requestedAt }) => [
  at === null ? 'not checked yet' : ['checked ', pastTime(at)],
  requestedAt === null ? '' : [', asked for again ', pastTime(requestedAt)],
];
