/** The page on which the console shows what an id names. */

/** @type {Readonly<Record<string, string>>} */
const PAGES = {
  chk: 'approvals',
  mbx: 'mailboxes',
  agt: 'agents',
  tok: 'tokens',
  whk: 'webhooks',
  obx: 'deliveries',
  usr: 'people',
  oac: 'applications',
  hld: 'holds',
  evt: 'audit',
};

/**
 * Null where there is none.
 * @param {string} id
 */
export function pageOfId(id) {
  const [, prefix = ''] = /^([a-z]{3})_[0-9a-z]+$/.exec(id) ?? [];
  const page = Object.hasOwn(PAGES, prefix) ? PAGES[prefix] : undefined;
  return page === undefined ? null : `#/${page}/${id}`;
}
