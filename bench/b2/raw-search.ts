/** What raw ImapFlow does for a search: the work that a query from the index replaces, and that of the live path. */
import type { ImapFlow } from 'imapflow';

/** UIDs in one command: servers limit the length of a line (Dovecot: 64 KiB). */
const MOST_NAMED = 5_000;

const envelopesOf = (raw: ImapFlow, uids: readonly number[]) =>
  raw.fetchAll(uids.join(','), { uid: true, flags: true, envelope: true }, { uid: true });

/** Unseen messages with the term, in the order of arrival: a search, then the newest envelopes. Returns how many. */
export async function searchAndFetch(raw: ImapFlow, term: string, limit: number): Promise<number> {
  const found = await raw.search({ seen: false, subject: term }, { uid: true });
  const page = (Array.isArray(found) ? found : []).slice(-limit);
  return page.length === 0 ? 0 : (await envelopesOf(raw, page)).length;
}

/**
 * The work of the live path. A server's search ignores accents and does not sort by date of receipt, so this
 * reads the dates of all unseen messages, then envelopes, newest first, until enough have the term.
 */
export async function sameWork(raw: ImapFlow, term: string, limit: number): Promise<number> {
  const found = await raw.search({ seen: false }, { uid: true });
  const uids = Array.isArray(found) ? found : [];
  const dated = [];
  for (let from = 0; from < uids.length; from += MOST_NAMED) {
    const named = uids.slice(from, from + MOST_NAMED).join(',');
    dated.push(...(await raw.fetchAll(named, { uid: true, internalDate: true }, { uid: true })));
  }
  const newest = dated
    .toSorted((a, b) => Number(b.internalDate) - Number(a.internalDate))
    .map(({ uid }) => uid);
  let hits = 0;
  for (
    let [from, chunk] = [0, 64];
    from < newest.length && hits < limit;
    from += chunk, chunk = Math.min(chunk * 2, 512)
  ) {
    const messages = await envelopesOf(raw, newest.slice(from, from + chunk));
    hits += messages.filter((message) => message.envelope?.subject?.toLowerCase().includes(term)).length;
  }
  return Math.min(hits, limit);
}

/** Messages a second that are fetched with what a mirror needs, and dropped. */
export async function passPerSecond(raw: ImapFlow, messages: number): Promise<number> {
  const wanted = {
    uid: true,
    flags: true,
    envelope: true,
    bodyStructure: true,
    internalDate: true,
    size: true,
  };
  const begin = performance.now();
  let count = 0;
  for await (const { uid } of raw.fetch(`1:${String(messages)}`, wanted)) count += Math.sign(uid);
  return (count / (performance.now() - begin)) * 1_000;
}
