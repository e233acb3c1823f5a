/** One webhook endpoint: how it answers, its settings, what can be done with it, and its deliveries. */
import { newKey } from './api.js';
import { DeliveryList } from './delivery-list.js';
import { h } from './dom.js';
import { answerSection, requestSection } from './exchange.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { keepFresh } from './keep-fresh.js';
import { PageActions, redrawToolbar } from './page-actions.js';
import { backTo } from './page-parts.js';
import { readEndpoint, testEndpoint } from './routes.js';
import { pause, remove, replayAll, resume, rotate } from './webhook-actions.js';
import { healthCard, settingsCard } from './webhook-facts.js';
import { secretPanel } from './webhook-secret.js';
import { aboutStatus, addressOf, deliveryBadge, endpointBadge, NEXT } from './webhook-wording.js';
import { counted } from './wording.js';

/** @import { WebhookEndpoint } from './payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/**
 * @param {ViewContext} context
 * @param {string} id
 * @param {URLSearchParams} query
 */
export async function webhookView(context, id, query) {
  const page = new EndpointPage(context, await readEndpoint(id, context.signal), query);
  await page.open();
  return { title: page.title, content: page.content };
}

class EndpointPage {
  /** @type {ViewContext} */
  #context;
  /** @type {WebhookEndpoint} */
  #endpoint;
  /** @type {DeliveryList} */
  #deliveries;
  #drawn = '';
  #stale = h('div');
  #head = h('div', { class: 'webhook-head' });
  #actions = h('div', { class: 'toolbar' });
  /** Stays until the view is left: it cannot be shown again. */
  #secret = h('div');
  /** @type {PageActions} */
  #do;
  #about = h('aside', { class: 'webhook-about', 'aria-label': 'About the endpoint' });

  /**
   * @param {ViewContext} context
   * @param {WebhookEndpoint} endpoint
   * @param {URLSearchParams} query
   */
  constructor(context, endpoint, query) {
    this.#context = context;
    this.#endpoint = endpoint;
    this.#do = new PageActions(NEXT);
    this.#deliveries = new DeliveryList(endpoint.id, context.signal, query);
  }

  get title() {
    return foreignPlain(addressOf(this.#endpoint));
  }

  get content() {
    return [
      backTo('#/webhooks', 'Webhooks'),
      this.#stale,
      this.#head,
      this.#actions,
      this.#secret,
      this.#do.outcome,
      h(
        'div',
        { class: 'webhook-page' },
        this.#context.names.may('deliveries:read') ? this.#deliveries.content : null,
        this.#about,
      ),
    ];
  }

  async open() {
    this.#draw();
    if (this.#context.names.may('deliveries:read')) await this.#deliveries.refresh();
    keepFresh(this.#context.signal, this.#stale, () => this.#refresh());
  }

  async #refresh() {
    this.#endpoint = await readEndpoint(this.#endpoint.id, this.#context.signal);
    this.#draw();
    if (this.#context.names.may('deliveries:read')) await this.#deliveries.refresh();
  }

  #draw() {
    const endpoint = this.#endpoint;
    const signature = JSON.stringify(endpoint);
    if (signature === this.#drawn) return;
    this.#drawn = signature;
    const { names } = this.#context;
    this.#head.replaceChildren(...headOf(endpoint));
    redrawToolbar(this.#actions, this.#buttons());
    this.#about.replaceChildren(healthCard(endpoint), settingsCard(endpoint, names));
  }

  /** @returns {readonly HTMLElement[]} */
  #buttons() {
    const { names } = this.#context;
    const { id, status } = this.#endpoint;
    const isOn = status !== 'disabled';
    return [
      ...(names.may('webhooks:manage')
        ? [
            ...(isOn ? [this.#do.button('Send test', 'primary', () => this.#test())] : []),
            h('a', { class: 'button plain', href: `#/webhooks/${id}/edit` }, 'Change'),
            this.#statusButton(),
            this.#do.button('Rotate secret…', 'plain', () => this.#rotate()),
          ]
        : []),
      ...(names.may('deliveries:replay') && isOn
        ? [this.#do.button('Replay…', 'plain', () => this.#replay())]
        : []),
      ...(names.may('webhooks:manage') ? [this.#do.button('Delete…', 'danger', () => this.#remove())] : []),
    ];
  }

  #statusButton() {
    const { status } = this.#endpoint;
    if (status === 'active' || status === 'failing')
      return this.#do.button('Pause', 'plain', () => this.#change(pause));
    return this.#do.button(status === 'paused' ? 'Resume' : 'Enable', 'plain', () => this.#change(resume));
  }

  async #test() {
    this.#do.show(h('p', { class: 'quiet', role: 'status' }, 'Sending a test…'));
    const delivery = await testEndpoint(this.#endpoint.id, newKey());
    await this.#refresh();
    return [
      h('div', { class: 'row' }, h('h2', { tabindex: -1 }, 'Test'), deliveryBadge(delivery)),
      h('div', { class: 'exchange' }, answerSection(delivery), requestSection(delivery, this.#endpoint)),
    ];
  }

  /** @param {(endpoint: WebhookEndpoint) => Promise<WebhookEndpoint>} change */
  async #change(change) {
    this.#endpoint = await change(this.#endpoint);
    this.#draw();
    return null;
  }

  async #rotate() {
    const shown = await rotate(this.#endpoint);
    if (shown === null) return undefined;
    this.#secret.replaceChildren(secretPanel(shown, 'New signing secret'));
    this.#secret.querySelector('h2')?.focus();
    await this.#refresh();
    return null;
  }

  async #replay() {
    const count = await replayAll(this.#endpoint);
    if (count === null) return undefined;
    await this.#refresh();
    const text = count === 0 ? 'There was nothing to replay.' : `${counted(count, 'event')} queued again.`;
    return h('p', { class: 'notice', role: 'status' }, text);
  }

  async #remove() {
    if (await remove(this.#endpoint)) location.hash = '#/webhooks';
    return undefined;
  }
}

/** @param {WebhookEndpoint} endpoint */
const headOf = (endpoint) => [
  h('h1', { tabindex: -1 }, foreign(addressOf(endpoint))),
  ...(endpoint.description === null ? [] : [h('p', null, foreign(endpoint.description))]),
  h(
    'p',
    { class: 'approval-meta' },
    endpointBadge(endpoint),
    h('span', { class: 'quiet' }, aboutStatus(endpoint)),
  ),
];
