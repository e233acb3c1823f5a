/** The statements for a page: candidates in order after a keyset, with the state of the mirrors in the same snapshot. */
import type { Filter } from '../../commands/mail/mail-filter.ts';
import { allOf, type Condition, conditionsOf, inThreads, Parameters, wordPatterns } from './filter-sql.ts';
import type { StateRow, WholeMailbox } from './folder-mirror.ts';
import type { MessageRow } from './message-row.ts';
import { senderIsKnown } from './first-contacts.ts';
import { threadsVersion } from './threads.ts';
import { probeSql } from './probe-sql.ts';
import {
  isTextOrder,
  keysetAfter,
  limitOf,
  listed,
  ordering,
  type PageAsk,
  TEXT_JOIN,
  valueOf,
  walkedMessages,
  type Way,
} from './walk-sql.ts';

/** A statement with its parameters. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Of a page: the state of a folder, or a message; the columns of the other are null. `is_complete` is of a probe. */
export type PageRow = { readonly is_complete: boolean | null } & (
  | (StateRow & { readonly found_in: null })
  | (MessageRow & { readonly folder_number: null; readonly found_in: number })
);

/** Of a count: the state of a folder, or its matches. */
export type CountRow =
  (StateRow & { readonly count: null }) | { readonly folder_number: null; readonly count: string };

/** Where messages can be in several folders, an answer about one folder needs the mirrors of all. */
const WHOLE = `not (
  exists (select from mirror.folder other where other.mailbox_number = $1::int
    and (other.indexed_from > 1 or other.trusted <> other.distrusts))
  and exists (select from mirror.message shared where shared.mailbox_number = $1::int and shared.provider_id is not null))`;

/** The mirrors of the requested folders, `$2`, of the mailbox `$1`, whose folders are `$3`. */
const STATES = `
  select folder_number, uid_validity, uid_next, indexed, highest_modseq, feed_position, version,
    ${threadsVersion('$3::int[]')} as threads_version,
    indexed_from = 1 and trusted = distrusts and ${WHOLE} as usable,
    coalesce(vouched_until > now(), false) and exists (
      select from work.mailbox_lease as lease join work.worker_heartbeat as beat on beat.run_id = lease.run_id
      where lease.mailbox_id = vouched_by and lease.fence = vouched_fence and lease.until > now()
        and beat.life = vouched_life and beat.until > now()) as attested
  from mirror.folder where mailbox_number = $1::int and folder_number = any($2::int[])`;

/** Only the state of the mirrors. */
export const statesStatement = (mailbox: WholeMailbox, folderNumbers: readonly number[]): BoundStatement => ({
  text: STATES,
  values: [mailbox.mailboxNumber, folderNumbers, mailbox.folderNumbers],
});

interface Around {
  /** Tables before `page`, each with a comma behind it. */
  readonly before?: string | undefined;
  readonly page: string;
  readonly columns: string;
  readonly found: string;
  readonly ordered?: string;
}

/**
 * One row per requested folder, of which only the columns of its state are set, and one per row of the page, of which only
 * these are null. No message is read unless the mirrors of all folders exist, are complete and valid.
 */
const around = ({ before = '', page, columns, found, ordered = '' }: Around): string => `
  with state as materialized (${STATES}),
  ready as materialized (
    select count(*) = cardinality($2::int[]) and bool_and(usable) as yes from state),
  ${before}
  page as materialized (${page})
  select state.*, ${columns}
  from state full join ${found} on false
  ${ordered}`;

/** The other folders of a message that may be in several. */
const ALSO_IN = `
  case when m.provider_id is not null then array(select distinct other.folder_number from mirror.message other
    where other.mailbox_number = $1::int and other.provider_id = m.provider_id
      and other.folder_number <> m.folder_number order by 1) end`;

/** The thread of a message, which has the message's root as one of its names. */
const THREAD_ID = `
  (select thread.thread_id from mirror.thread_name named join mirror.thread thread
     on thread.mailbox_number = named.mailbox_number and thread.thread_key = named.thread_key
   where named.mailbox_number = $1::int and named.name_key = m.thread_key)`;

const PLACE_COLUMNS =
  'found.folder_number as found_in, found.uid, found.received_at, found.sent_at, found.size, found.seen, found.flagged, found.answered, found.draft, found.has_attachment, found.keywords, found.provider_id, found.also_in';

/** The messages of the places that were sifted: only places are sorted, as they may be many. */
const OF_PLACES = `
  (select message.*, page.value from page join mirror.message message on message.mailbox_number = $1::int
    and message.folder_number = page.folder_number and message.uid = page.uid) m`;

/** The statement for a page. */
export function pageStatement(ask: PageAsk, way: Way): BoundStatement {
  const parameters = parametersOf(ask);
  const probe = way.kind === 'probe' ? probeSql(ask, parameters) : null;
  const page =
    way.kind === 'sift'
      ? { places: siftedPlaces(ask, parameters), messages: OF_PLACES }
      : { places: probe?.page ?? walkedMessages(ask, way, parameters), messages: 'page m' };
  const text = ask.withEnvelope ? `left ${TEXT_JOIN}` : '';
  const { contactsIn } = ask;
  const known = contactsIn === null ? 'null::boolean' : senderIsKnown(parameters.add(contactsIn, 'int[]'));
  const envelope = ask.withEnvelope
    ? `t.envelope, ${THREAD_ID} as thread_id, ${known} as sender_is_known`
    : 'null::text as envelope, null::text as thread_id, null::boolean as sender_is_known';
  const found = `
    (select m.*, ${ALSO_IN} as also_in, ${envelope} from ${page.messages} ${text}) as found`;
  return {
    text: around({
      before: probe?.before,
      page: page.places,
      columns: `${probe?.isComplete ?? 'null::boolean'} as is_complete, ${PLACE_COLUMNS}, found.envelope, found.thread_id, found.sender_is_known`,
      found,
      ordered: ordering(ask.order, 'found'),
    }),
    values: parameters.values,
  };
}

function parametersOf({ mailbox, folderNumbers }: PageAsk): Parameters {
  const parameters = new Parameters();
  parameters.add(mailbox.mailboxNumber, 'int');
  parameters.add(folderNumbers, 'int[]');
  parameters.add(mailbox.folderNumbers, 'int[]');
  return parameters;
}

/** Counts the matches of an exact filter; the number is returned in `count`. */
export function countStatement(ask: PageAsk): BoundStatement {
  const parameters = parametersOf(ask);
  const { condition, join } = filtered(ask, parameters);
  const page = `
    select m.folder_number, count(*) as count from mirror.message m ${join}
    where m.mailbox_number = $1::int and m.folder_number = any($2::int[]) and ${listed(ask)} and ${condition.sql}
      and (select yes from ready) group by m.folder_number`;
  return {
    text: around({ page, columns: 'found.count', found: 'page as found' }),
    values: parameters.values,
  };
}

/** True when SQL alone decides, so that its matches need no check and may be counted in SQL. */
export const isExactInSql = (filter: Filter): boolean =>
  allOf(conditionsOf(filter, new Parameters())).isExact;

/** The filter and the threads as one condition, and the join it needs. */
function filtered(ask: PageAsk, parameters: Parameters): { condition: Condition; join: string } {
  const condition = allOf([...threadsOf(ask, parameters), ...conditionsOf(ask.filter, parameters)]);
  return { condition, join: condition.readsText ? TEXT_JOIN : '' };
}

const threadsOf = ({ threadKeys }: PageAsk, parameters: Parameters): readonly Condition[] =>
  threadKeys === null ? [] : [inThreads(threadKeys, parameters)];

function siftedPlaces(ask: PageAsk, parameters: Parameters): string {
  const { order, after } = ask;
  const { condition } = filtered(ask, parameters);
  const patterns = wordPatterns(ask.filter).map(
    (pattern) => `t.words like ${parameters.add(pattern, 'text')}`,
  );
  const join = condition.readsText || isTextOrder(order) || patterns.length > 0 ? TEXT_JOIN : '';
  const wanted = [
    `m.mailbox_number = $1::int and m.folder_number = any($2::int[]) and ${listed(ask)}`,
    ...(join === '' ? [] : ['t.mailbox_number = $1::int and t.folder_number = any($2::int[])']),
    ...patterns,
    condition.sql,
    ...(after === null ? [] : [keysetAfter(after, order, parameters)]),
    '(select yes from ready)',
  ];
  return `
    select place.* from (
      select m.folder_number, m.uid, ${valueOf(order)} as value from mirror.message m ${join}
      where ${wanted.join(' and ')}) as place
    ${ordering(order, 'place')} ${limitOf(ask)}`;
}
