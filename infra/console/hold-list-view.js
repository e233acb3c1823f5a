/** The legal holds of the organisation: those that count, then those that were released. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { listHolds } from './hold-routes.js';
import { stateBadge, targetCounts } from './hold-wording.js';
import { emptyList, entryRow, liveList } from './live-list.js';
import { pastTime } from './times.js';

/** @import { Hold } from './audit-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** @param {ViewContext} context */
export async function holdListView({ names, signal }) {
  await names.learnPrincipals(signal);
  const list = await liveList({
    signal,
    label: 'Legal holds',
    load: async () => countingFirst(await listHolds(signal)),
    rowOf: (hold) => rowOf(hold, names),
    empty: () => emptyList('No legal holds', 'Place one to keep what you are obliged to keep.'),
  });
  return {
    title: 'Legal holds',
    content: [
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, 'Legal holds'),
        h('a', { class: 'button primary', href: '#/holds/new' }, 'Place a hold'),
      ),
      h(
        'p',
        { class: 'quiet lead' },
        'What a hold names is not erased, moved to the trash or discarded by anybody until two people have released it.',
      ),
      list,
    ],
  };
}

/** @param {readonly Hold[]} holds */
const countingFirst = (holds) => [
  ...holds.filter(({ state }) => state !== 'released'),
  ...holds.filter(({ state }) => state === 'released'),
];

/**
 * @param {Hold} hold
 * @param {import('./names.js').Names} names
 */
const rowOf = (hold, names) =>
  entryRow({
    id: hold.id,
    href: `#/holds/${hold.id}`,
    title: foreign(hold.name),
    about: [
      [
        targetCounts(hold.targets),
        ' · placed by ',
        foreign(names.nameOf(hold.created_by)),
        ' ',
        pastTime(hold.created_at),
      ],
    ],
    state: stateBadge(hold),
  });
