/**
 * Searches the new messages of a mailbox for delivery reports about what it sent, and records each in the stream of its draft.
 * How far it came is stored after the append, so a crash only repeats a search.
 */
import { decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import {
  type DeliveryReport,
  messageIdOfReport,
  readDeliveryReport,
  REPORT_BYTES,
} from '../mail/delivery-report.ts';
import type { ReportedRecipient } from '../mail/reported-recipient.ts';
import { bareMessageId } from '../mail/matches.ts';
import type { ObservedChange } from '../ports/change-feed.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { MessagePlace, PersonalData, Ports } from '../ports/ports.ts';
import { draft, type DraftFact, type DraftState } from '../drafts/draft.ts';
import type { ReportedOutcome } from '../drafts/report-events.ts';
import type { Position } from '../values/position.ts';
import { messageIdsOf } from './sent-copy.ts';

/** Places searched at once; the changes of one event are never split. */
const MOST_PLACES = 300;
/** Everybody who got the message can report of it: later reports of the same draft are left out. */
const MOST_REPORTS = 50;
const READ_MODEL_WITHIN_MS = 1_000;

/** A mailbox that sent something, with changes that were not searched. */
export interface ReportSearch {
  readonly mailboxId: string;
  /** The last change that was searched. */
  readonly after: Position;
  /** The mirror holds every message that was observed up to here. */
  readonly upTo: Position;
}

export interface ReportSearches {
  /** Those of the places whose message may be a report, as far as the mirror knows its envelope. */
  suspects(mailboxNumber: number, places: readonly MessagePlace[]): Promise<readonly MessagePlace[]>;
  /** The drafts that the mailbox sent with these Message-IDs, in their order. */
  sentWith(mailboxId: string, messageIds: readonly string[]): Promise<readonly string[]>;
  /** Every change up to there was searched. */
  note(mailboxId: string, upTo: Position): Promise<void>;
}

/**
 * Searches every change up to `upTo`, in steps. False when it did not get there: the feed is behind the mirror, or a report has to
 * wait for the read models or for the outcome of its own send. Throws a `GatewayError` when the mail server or a store is
 * unavailable.
 */
export async function searchReports(
  ports: Ports,
  searches: ReportSearches,
  { mailboxId, after, upTo }: ReportSearch,
): Promise<boolean> {
  const mailbox = ports.directory.state.mailboxes.get(mailboxId);
  if (!mailbox) return true;
  const known = await ports.feed.changesAfter(mailboxId, { position: after, index: null });
  const last = known.upTo < upTo ? known.upTo : upTo;
  let rest = known.changes.filter(({ position }) => position <= last);
  for (let searchedTo: Position | null = null; searchedTo !== last;) {
    const step = firstOf(rest, last);
    if (!(await searchStep(ports, searches, mailbox, step))) return false;
    rest = rest.slice(step.some.length);
    searchedTo = step.searchedTo;
  }
  return last === upTo;
}

/** False when it has to be searched again. */
async function searchStep(
  ports: Ports,
  searches: ReportSearches,
  mailbox: MailboxEntry,
  { some, searchedTo }: Step,
): Promise<boolean> {
  const places = some.filter(isArrival).map((change) => placeOf(mailbox, change));
  const suspects = places.length === 0 ? [] : await searches.suspects(mailbox.number, places);
  if (suspects.length > 0 && !(await ports.readModels.waitFor(searchedTo, READ_MODEL_WITHIN_MS)))
    return false;
  for (const place of suspects) if (!(await searchOne(ports, searches, mailbox, place))) return false;
  await searches.note(mailbox.id, searchedTo);
  return true;
}

/** A message that an operation brought here may have been moved before it was searched where it arrived. */
const isArrival = ({ kind }: ObservedChange): boolean => kind === 'received' || kind === 'moved';

const placeOf = (
  { number }: MailboxEntry,
  { folderNumber, uidValidity, uid }: ObservedChange,
): MessagePlace => ({ mailboxNumber: number, folderNumber, uidValidity, uid });

interface Step {
  readonly some: readonly ObservedChange[];
  readonly searchedTo: Position;
}

/** Whole events: at least one, and no more than fit. */
function firstOf(changes: readonly ObservedChange[], last: Position): Step {
  const next = changes[MOST_PLACES];
  if (next === undefined) return { some: changes, searchedTo: last };
  const whole = changes.slice(0, MOST_PLACES).filter(({ position }) => position < next.position);
  const some = whole.length > 0 ? whole : changes.filter(({ position }) => position === next.position);
  return { some, searchedTo: some.at(-1)?.position ?? last };
}

/** False when it has to be searched again. */
async function searchOne(
  ports: Ports,
  searches: ReportSearches,
  mailbox: MailboxEntry,
  place: MessagePlace,
): Promise<boolean> {
  const folder = mailbox.folders.find(({ number }) => number === place.folderNumber);
  if (!folder || folder.availability === 'missing') return true;
  const bytes = await ports.mail.withMailbox(mailbox.id, 'bulk', (mail) =>
    mail.readBytes({ folder, uidValidity: place.uidValidity, uid: place.uid }, null, 0, REPORT_BYTES),
  );
  const report = bytes && readDeliveryReport(bytes);
  if (!report) return true;
  for (const draftId of await searches.sentWith(mailbox.id, report.messageIds)) {
    const { state } = await loadAggregate(ports.events, draft, draftId);
    if (!(await isAbout(ports.personal, state, report))) continue;
    // The stream of a draft is the lock of its send: nothing is written there while an attempt runs.
    if (state.status === 'sending' && state.send?.dataBegunAt != null) return false;
    await record(ports, mailbox, draftId, await factOf(ports, { mailbox, place, bytes, report }, state));
    break;
  }
  return true;
}

async function isAbout(
  personal: Pick<PersonalData, 'open'>,
  state: DraftState,
  { messageIds }: DeliveryReport,
): Promise<boolean> {
  const sent = await messageIdsOf(personal, state);
  return sent.some((id) => messageIds.includes(bareMessageId(id)));
}

interface Found {
  readonly mailbox: MailboxEntry;
  readonly place: MessagePlace;
  readonly bytes: Uint8Array;
  readonly report: DeliveryReport;
}

type ReportFact = Extract<DraftFact, { readonly type: 'DeliveryReportReceived' }>;

async function factOf(
  { ids, locators, personal }: Ports,
  { mailbox, place, bytes, report }: Found,
  { send }: DraftState,
): Promise<ReportFact> {
  const locator = locators.message(place);
  const recipients = await Promise.all(
    report.recipients.map((each) => sealedOutcome(personal, mailbox.id, each)),
  );
  return {
    type: 'DeliveryReportReceived',
    data: {
      operation_id: send?.frozen.operation_id ?? '',
      report_message_id: locator,
      folder: place.folderNumber,
      report_key: ids.reservationName(
        `report\u0000${mailbox.id}\u0000${messageIdOfReport(bytes) ?? locator}`,
      ),
      recipients,
    },
  };
}

async function sealedOutcome(
  personal: Pick<PersonalData, 'seal'>,
  mailboxId: string,
  { address, action, status, diagnostic, remoteMta }: ReportedRecipient,
): Promise<ReportedOutcome> {
  return {
    address: await personal.seal(mailboxId, address),
    action,
    status,
    diagnostic: diagnostic === null ? null : await personal.seal(mailboxId, diagnostic),
    remote_mta: remoteMta === null ? null : await personal.seal(mailboxId, remoteMta),
  };
}

const record = (ports: Ports, { orgId }: MailboxEntry, id: string, fact: ReportFact): Promise<unknown> =>
  decideAndAppend(ports, systemAuthor(ports, orgId), draft, {
    id,
    decide: (state) => decideReport(state, fact),
  });

/** Pure. A report counts once, of a message that went out or may have, and of the send it is about. */
export function decideReport({ status, send, reports }: DraftState, fact: ReportFact): readonly DraftFact[] {
  const wentOut = status === 'sent' || status === 'send_unknown';
  const isKnown = reports.some(({ report_key }) => report_key === fact.data.report_key);
  const isOfSend = send?.frozen.operation_id === fact.data.operation_id;
  return wentOut && isOfSend && !isKnown && reports.length < MOST_REPORTS ? [fact] : [];
}
