/** How a filter is answered: what the server searches, what remains to be checked, and how much must be fetched for it. */
import type { SearchObject } from 'imapflow';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import { type LeafKey, leafKeys, type ServerLeaf, serverLeaves } from '../../commands/mail/matches.ts';
import type { Depth } from './fetched-message.ts';
import { isAtom, narrowingOf } from './search-narrowing.ts';

export interface QueryPlan {
  readonly filter: Filter;
  /** Null = all messages. */
  readonly search: SearchObject | null;
  /** INTERNALDATE of every match, in milliseconds: at or after `from`, before `until`. */
  readonly window: { readonly from: number; readonly until: number };
  /** True when search and window leave nothing to check. */
  readonly isExact: boolean;
  /** What must be fetched of a message to check it. */
  readonly depth: Depth;
  readonly serverLeaves: readonly ServerLeaf[];
}

const SEARCHED: ReadonlySet<LeafKey> = new Set([
  'seen', 'flagged', 'answered', 'draft', 'size_min', 'size_max', 'body_contains', 'header',
]); // prettier-ignore
const OF_PLACE: ReadonlySet<LeafKey> = new Set([
  ...SEARCHED, 'keyword', 'not_keyword', 'received_after', 'received_before',
]); // prettier-ignore
const OF_STRUCTURE: ReadonlySet<LeafKey> = new Set(['has_attachment', 'attachment_name_contains']);

/** The plan for a filter. */
export function planQuery(filter: Filter): QueryPlan {
  const keys = allKeys(filter);
  return {
    filter,
    search: narrowingOf(filter),
    window: {
      from: filter.received_after === undefined ? -Infinity : Date.parse(filter.received_after),
      until: filter.received_before === undefined ? Infinity : Date.parse(filter.received_before),
    },
    isExact: isExact(filter, true),
    depth: depthOf(keys),
    serverLeaves: serverLeaves(filter),
  };
}

function depthOf(keys: readonly LeafKey[]): Depth {
  if (keys.some((key) => OF_STRUCTURE.has(key))) return 'structure';
  return keys.every((key) => OF_PLACE.has(key)) ? 'place' : 'envelope';
}

const groupsOf = ({ any = [], all = [], not }: Filter): readonly Filter[] => [
  ...any,
  ...all,
  ...(not ? [not] : []),
];

const allKeys = (filter: Filter): readonly LeafKey[] => [
  ...leafKeys(filter),
  ...groupsOf(filter).flatMap(allKeys),
];

/** Dates are exact only at the top, where the window applies them; a search has day precision. */
function isExact(filter: Filter, isTop: boolean): boolean {
  const own = leafKeys(filter).every((key) => {
    if (key === 'keyword' || key === 'not_keyword') return isAtom(filter[key] ?? '');
    return SEARCHED.has(key) || (isTop && (key === 'received_after' || key === 'received_before'));
  });
  return own && groupsOf(filter).every((inner) => isExact(inner, false));
}
