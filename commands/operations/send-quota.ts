/** Messages sent per hour (`contract.md` 3 and 15): counted before the intent, so that no race exceeds it. */
import { z } from 'zod';
import {
  type Aggregate,
  type Author,
  decideAndAppend,
  loadAggregate,
  type Loaded,
} from '../kernel/decide-and-append.ts';
import type { ActorKind, Caller } from '../kernel/access.ts';
import { quotasOn } from '../kernel/grant-quotas.ts';
import { GatewayError } from '../values/errors.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import type { Ports } from '../ports/ports.ts';
import type { OperationState } from './operation.ts';

const QuotaTaken = defineEvent({
  type: 'QuotaTaken',
  summary: 'A send was counted against the quota of its hour.',
  data: z.object({
    operation_id: z.string(),
    /** Absent in events from before mailboxes had their own quotas. */
    mailbox_id: z.string().optional(),
  }),
  webhook: null,
});

const QuotaGivenBack = defineEvent({
  type: 'QuotaGivenBack',
  summary: 'A send that certainly did not happen no longer counts.',
  data: z.object({ operation_id: z.string() }),
  webhook: null,
});

export const quotaEvents = [QuotaTaken, QuotaGivenBack] as const;

type QuotaFact = Fact<(typeof quotaEvents)[number]>;

/** The events of an hour, newest first. */
type QuotaState = {
  readonly newest: PastFact<(typeof quotaEvents)[number]>;
  readonly before: QuotaState;
} | null;

const quota: Aggregate<QuotaState, (typeof quotaEvents)[number]> = {
  category: 'quota',
  catalogue: catalogueOf(quotaEvents),
  initial: null,
  evolve: (before, newest) => ({ newest, before }),
};

/** Operation → the mailbox it sends from; null where the event does not name it. The last event of each decides. */
function countedSends(state: QuotaState): ReadonlyMap<string, string | null> {
  const decided = new Set<string>();
  const counted = new Map<string, string | null>();
  for (let at = state; at !== null; at = at.before) {
    const { type, data } = at.newest;
    if (decided.has(data.operation_id)) continue;
    decided.add(data.operation_id);
    if (type === 'QuotaTaken') counted.set(data.operation_id, data.mailbox_id ?? null);
  }
  return counted;
}

const HOUR_MS = 3_600_000;

/** `<principal>-<yyyymmddhh>`, the hour in UTC. */
const hourOf = (principalId: string, at: Date): string =>
  `${principalId}-${at.toISOString().slice(0, 13).replaceAll(/[-T]/g, '')}`;

/** In whose name a message is sent, and from where: sends are counted by both. */
export interface Sender {
  readonly principalId: string;
  readonly actor: ActorKind;
  readonly mailboxId: string;
}

/** The caller, sending from this mailbox now. */
export const senderOf = (
  { principal, actor }: Pick<Caller, 'principal' | 'actor'>,
  mailboxId: string,
): Sender => ({
  principalId: principal.id,
  actor,
  mailboxId,
});

/** The maximum of sends in an hour; Infinity = no limit. */
interface Most {
  readonly inAll: number;
  readonly fromMailbox: number;
}

/** In whose hour a send is counted, and the limits of that hour. */
interface Bound {
  readonly principalId: string;
  readonly most: Most;
}

/**
 * The sender's own hour, limited for an agent over all mailboxes together, and by the grant on this one; for
 * an agent also its owner's hour, which all agents of that owner share. Only hours with a limit.
 */
function boundsOf({ server, directory: { state } }: Writers, sender: Sender): readonly Bound[] {
  const { principalId, actor, mailboxId } = sender;
  const ofGrant = (id: string): number => quotasOn(state, mailboxId, id)?.['sends_per_hour'] ?? Infinity;
  return countedIn(state, principalId)
    .map((id): Bound => ({
      principalId: id,
      most: {
        inAll: actor === 'agent' && id === principalId ? server.limits.sendsPerHour : Infinity,
        fromMailbox: ofGrant(id),
      },
    }))
    .filter(({ most }) => Math.min(most.inAll, most.fromMailbox) < Infinity);
}

/** The sender, and the owner where that is an agent. */
function countedIn({ agents }: Writers['directory']['state'], principalId: string): readonly string[] {
  const owner = agents.get(principalId)?.ownerId;
  return owner === undefined ? [principalId] : [principalId, owner];
}

type Writers = Pick<Ports, 'events' | 'ids' | 'clock' | 'server' | 'directory'>;

/** The limited hours, by their ids, as they were read. */
export type ReadHours = ReadonlyMap<string, Loaded<QuotaState>>;

/** Throws `quota_exceeded` where `takeQuota` would refuse now, so that nothing is prepared for the send. */
export async function assertQuotaLeft(
  ports: Writers,
  sender: Sender,
  operationId: string,
): Promise<ReadHours> {
  const now = ports.clock.now();
  const hours = new Map<string, Loaded<QuotaState>>();
  for (const { principalId, most } of boundsOf(ports, sender)) {
    const id = hourOf(principalId, now);
    const loaded = await loadAggregate(ports.events, quota, id);
    decideTaking(loaded.state, operationId, { sender, most, now });
    hours.set(id, loaded);
  }
  return hours;
}

/**
 * Counts one send in each limited hour, or in none. Throws `quota_exceeded`; the same operation counts once. An hour that
 * was just read is read again only when another send was first.
 */
export async function takeQuota(
  ports: Writers,
  author: Author,
  sender: Sender,
  { operationId, hours }: { readonly operationId: string; readonly hours?: ReadHours },
): Promise<void> {
  const now = ports.clock.now();
  const counted: string[] = [];
  try {
    for (const { principalId, most } of boundsOf(ports, sender)) {
      const id = hourOf(principalId, now);
      const decide = (state: QuotaState) => decideTaking(state, operationId, { sender, most, now });
      const loaded = hours?.get(id);
      const { appended } = await decideAndAppend(ports, author, quota, {
        id,
        decide,
        ...(loaded && { loaded }),
      });
      if (appended) counted.push(id);
    }
  } catch (error) {
    const isUsedUp = error instanceof GatewayError && error.code === 'quota_exceeded';
    // A send that one hour refuses does not count in the other.
    if (isUsedUp) for (const id of counted) await giveBackIn(ports, author, id, operationId);
    throw error;
  }
}

interface Taking {
  readonly sender: Sender;
  readonly most: Most;
  readonly now: Date;
}

function decideTaking(
  state: QuotaState,
  operationId: string,
  { sender: { mailboxId }, most, now }: Taking,
): readonly QuotaFact[] {
  const counted = countedSends(state);
  if (counted.has(operationId)) return [];
  if (counted.size >= most.inAll)
    throw exceeded(now, `An agent may send ${String(most.inAll)} mails in an hour.`, most.inAll);
  if ([...counted.values()].filter((from) => from === mailboxId).length >= most.fromMailbox) {
    const message = `The grant on this mailbox allows ${String(most.fromMailbox)} mails in an hour.`;
    throw exceeded(now, message, most.fromMailbox);
  }
  return [{ type: 'QuotaTaken', data: { operation_id: operationId, mailbox_id: mailboxId } }];
}

/** The quota taken for an operation of this time counts no longer. Harmless when nothing was taken. */
export async function giveQuotaBack(
  ports: Writers,
  author: Author,
  principalId: string,
  operation: { readonly id: string; readonly intendedAt: Date },
): Promise<void> {
  // The quota was taken just before the intent, possibly in the previous hour.
  const { id, intendedAt } = operation;
  const hours = [intendedAt, new Date(intendedAt.getTime() - HOUR_MS)];
  for (const who of countedIn(ports.directory.state, principalId))
    for (const at of hours) await giveBackIn(ports, author, hourOf(who, at), id);
}

async function giveBackIn(ports: Writers, author: Author, hour: string, operationId: string): Promise<void> {
  await decideAndAppend(ports, author, quota, {
    id: hour,
    decide: (state): readonly QuotaFact[] =>
      countedSends(state).has(operationId)
        ? [{ type: 'QuotaGivenBack', data: { operation_id: operationId } }]
        : [],
  });
}

function exceeded(now: Date, message: string, limit: number): GatewayError {
  const left = HOUR_MS - (now.getTime() % HOUR_MS);
  return new GatewayError('quota_exceeded', message, {
    details: { quota: 'sends_per_hour', limit },
    retryAfterSeconds: Math.ceil(left / 1_000),
  });
}

/** A send that certainly did not happen counts no longer. Harmless when none was begun. */
export async function giveBack(
  ports: Ports,
  author: Author,
  operationId: string,
  { send, submitted }: OperationState,
): Promise<void> {
  if (send === null || submitted === null) return;
  const intendedAt = new Date(send.intendedAt);
  await giveQuotaBack(ports, author, submitted.by.id, { id: operationId, intendedAt });
}
