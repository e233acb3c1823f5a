/** Exporting the trail: what is wanted, how far it is, and how the file is verified. */
import { ApiError } from './api.js';
import { exportFields, exportQuery } from './audit-export-form.js';
import { filterIn, trailAddress } from './audit-filter.js';
import { learnNames } from './audit-view.js';
import { verifyCard } from './audit-verify-card.js';
import { numberText } from './audit-strip.js';
import { NEXT } from './audit-wording.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { ExportFile } from './export-file.js';
import { formOf } from './form.js';
import { backTo, cancelTo, told } from './page-parts.js';
import { saveAs } from './save-as.js';

/** @typedef {import('./main.js').ViewContext} ViewContext */

/**
 * @param {ViewContext} context
 * @param {URLSearchParams} query
 */
export async function exportView(context, query) {
  await learnNames(context);
  const filter = filterIn(query);
  const back = trailAddress(filter);
  const place = h('div', { class: 'view form-page' });
  const form = formOf(exportFields(filter, context.names), {
    button: 'Export',
    beside: cancelTo(back),
    next: NEXT,
    act: async (values) => {
      const run = new ExportRun(context, { query: exportQuery(filter, values), again: showForm });
      await run.begin();
      place.replaceChildren(run.content);
      run.focus();
    },
  });
  const showForm = () => {
    place.replaceChildren(form);
    form.querySelector('button')?.focus();
  };
  place.append(form);
  return {
    title: 'Export the audit trail',
    content: [
      backTo(back, 'Audit trail'),
      h('h1', { tabindex: -1 }, 'Export the audit trail'),
      place,
      h('div', { class: 'form-page' }, verifyCard(context)),
    ],
  };
}

const MEGABYTE = 1_000_000;

/** @param {number} bytes */
const sizeText = (bytes) =>
  bytes < MEGABYTE
    ? `${numberText(Math.ceil(bytes / 1_000))} kB`
    : `${numberText(Math.round(bytes / 100_000) / 10)} MB`;

class ExportRun {
  /** @type {ViewContext} */
  #context;
  /** @type {Record<string, string>} */
  #query;
  /** @type {() => void} */
  #again;
  #stop = new AbortController();
  /** @type {ExportFile} */
  #file;
  #heading = h('h2', { tabindex: -1 }, 'Exporting');
  #bar = h('progress', { max: 1, 'aria-label': 'Lines exported' });
  #count = h('p', { class: 'quiet small' });
  #below = h('div', { class: 'stack' });

  /**
   * @param {ViewContext} context
   * @param {{ query: Record<string, string>, again: () => void }} options `again`: shows the form
   */
  constructor(context, { query, again }) {
    this.#context = context;
    this.#query = query;
    this.#again = again;
    this.#file = new ExportFile(query, AbortSignal.any([context.signal, this.#stop.signal]));
  }

  get content() {
    return h(
      'section',
      { class: 'card', 'aria-label': 'Export' },
      this.#heading,
      h('div', { class: 'progress' }, this.#bar, this.#count),
      this.#below,
    );
  }

  focus() {
    this.#heading.focus();
  }

  /** Resolves once the gateway sends the file; throws `ApiError` when it refuses. The rest runs on by itself. */
  async begin() {
    await this.#file.open();
    void this.#read();
  }

  async #read() {
    this.#heading.textContent = 'Exporting';
    this.#below.replaceChildren(h('div', { class: 'toolbar' }, this.#button('Cancel', () => { this.#cancel(); }))); // prettier-ignore
    try {
      await this.#file.read(() => {
        this.#draw();
      });
      this.#done();
    } catch (error) {
      if (!this.#context.signal.aborted && !this.#stop.signal.aborted) this.#broken(error);
    }
  }

  /**
   * @param {string} label
   * @param {() => void} act
   * @param {string} [tone]
   */
  #button(label, act, tone = 'plain') {
    return h('button', { type: 'button', class: tone, on: { click: act } }, label);
  }

  #draw() {
    const { lines, total, bytes } = this.#file.progress;
    this.#bar.max = Math.max(total, 1);
    this.#bar.value = lines;
    this.#count.textContent = `${numberText(lines)} of ${numberText(total)} lines · ${sizeText(bytes)}`;
  }

  #cancel() {
    this.#stop.abort();
    this.#again();
  }

  #done() {
    const file = this.#file.toBlob();
    const { name, undecidable, nextSeq } = this.#file;
    const save = () => {
      saveAs(name, file);
    };
    this.#draw();
    this.#bar.value = this.#bar.max;
    this.#heading.textContent = 'Exported';
    this.#context.announce('Exported');
    this.#below.replaceChildren(
      told(['Saved as ', h('code', null, name), '. The export is a line of the trail.']),
      undecidable === 0
        ? ''
        : h(
            'p',
            { class: 'small' },
            `${numberText(undecidable)} older lines name neither mailbox nor approval: for them the file cannot prove that the filter does not fit.`,
          ),
      h(
        'div',
        { class: 'toolbar' },
        this.#button('Save again', save),
        this.#button('Another export', this.#again),
        nextSeq === null ? null : this.#button(`Next part, from line ${numberText(Number(nextSeq))}`, () => void this.#next(nextSeq)), // prettier-ignore
      ),
    );
    save();
    this.focus();
  }

  /** @param {string} fromSeq */
  async #next(fromSeq) {
    this.#file = new ExportFile({ ...this.#query, from_seq: fromSeq }, AbortSignal.any([this.#context.signal, this.#stop.signal])); // prettier-ignore
    try {
      await this.begin();
      this.focus();
    } catch (error) {
      this.#broken(error);
    }
  }

  /** @param {unknown} error */
  #broken(error) {
    const mayGoOn = this.#file.canContinue && error instanceof ApiError && error.code !== 'version_conflict';
    this.#heading.textContent = 'Broken off';
    this.#below.replaceChildren(
      errorNotice(error, {
        next: { ...NEXT, version_conflict: 'Rights or texts have changed meanwhile. Begin again.' },
      }),
      h(
        'div',
        { class: 'toolbar' },
        mayGoOn ? this.#button('Continue', () => void this.#read(), 'primary') : null,
        this.#button('Begin again', this.#again),
      ),
    );
  }
}
