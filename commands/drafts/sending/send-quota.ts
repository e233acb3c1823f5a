/** How many mails may be sent in an hour (`contract.md` 3 and 15): counted before the intent, so that a race cannot pass it. */
import { z } from 'zod';
import {
  type Aggregate,
  type Author,
  decideAndAppend,
  loadAggregate,
} from '../../kernel/decide-and-append.ts';
import type { ActorKind, Caller } from '../../kernel/access.ts';
import { GatewayError } from '../../kernel/errors.ts';
import { catalogueOf, defineEvent, type Fact } from '../../kernel/event.ts';
import { quotasOn } from '../../kernel/grant-quotas.ts';
import type { Ports } from '../../kernel/ports.ts';

export const QuotaTaken = defineEvent({
  type: 'QuotaTaken',
  summary: 'A send was counted against the quota of its hour.',
  data: z.object({
    operation_id: z.string(),
    /** Absent in events of before mailboxes had quotas of their own. */
    mailbox_id: z.string().optional(),
  }),
});

export const QuotaGivenBack = defineEvent({
  type: 'QuotaGivenBack',
  summary: 'A send that surely did not happen no longer counts.',
  data: z.object({ operation_id: z.string() }),
});

export const quotaEvents = [QuotaTaken, QuotaGivenBack] as const;

type QuotaFact = Fact<(typeof quotaEvents)[number]>;

interface QuotaState {
  /** Operation → the mailbox it sends from, as far as it was told. */
  readonly taken: ReadonlyMap<string, string | null>;
  readonly givenBack: ReadonlySet<string>;
}

const quota: Aggregate<QuotaState, (typeof quotaEvents)[number]> = {
  category: 'quota',
  catalogue: catalogueOf(quotaEvents),
  initial: { taken: new Map(), givenBack: new Set() },
  evolve: ({ taken, givenBack }, { type, data }) =>
    type === 'QuotaTaken'
      ? {
          taken: new Map(taken).set(data.operation_id, data.mailbox_id ?? null),
          givenBack: new Set([...givenBack].filter((id) => id !== data.operation_id)),
        }
      : { taken, givenBack: new Set(givenBack).add(data.operation_id) },
};

const HOUR_MS = 3_600_000;

/** `<principal>-<yyyymmddhh>`, the hour in UTC. */
const hourOf = (principalId: string, at: Date): string =>
  `${principalId}-${at.toISOString().slice(0, 13).replaceAll(/[-T]/g, '')}`;

/** In whose name something is sent, and from where: what sends are counted by. */
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

/** Most sends in an hour; Infinity = as many as one likes. */
interface Most {
  readonly inAll: number;
  readonly fromMailbox: number;
}

/** An agent's in all mailboxes together, and what the grant on this one says of whoever holds it. */
function mostOf({ server, directory }: Writers, { principalId, actor, mailboxId }: Sender): Most {
  return {
    inAll: actor === 'agent' ? server.limits.sendsPerHour : Infinity,
    fromMailbox: quotasOn(directory.state, mailboxId, principalId)?.['sends_per_hour'] ?? Infinity,
  };
}

const isCounted = ({ inAll, fromMailbox }: Most): boolean => Math.min(inAll, fromMailbox) < Infinity;

type Writers = Pick<Ports, 'events' | 'ids' | 'clock' | 'server' | 'directory'>;

/** Throws `quota_exceeded` for a send that `takeQuota` would refuse now, so that nothing is made ready for it. */
export async function assertQuotaLeft(ports: Writers, sender: Sender, operationId: string): Promise<void> {
  const most = mostOf(ports, sender);
  if (!isCounted(most)) return;
  const now = ports.clock.now();
  const { state } = await loadAggregate(ports.events, quota, hourOf(sender.principalId, now));
  decideTaking(state, operationId, { sender, most, now });
}

/** Counts one send of this hour, where anything counts them. Throws `quota_exceeded`; the same operation counts once. */
export async function takeQuota(
  ports: Writers,
  author: Author,
  sender: Sender,
  operationId: string,
): Promise<void> {
  const most = mostOf(ports, sender);
  if (!isCounted(most)) return;
  const now = ports.clock.now();
  await decideAndAppend(ports, author, quota, {
    id: hourOf(sender.principalId, now),
    decide: (state) => decideTaking(state, operationId, { sender, most, now }),
  });
}

interface Taking {
  readonly sender: Sender;
  readonly most: Most;
  readonly now: Date;
}

function decideTaking(
  { taken, givenBack }: QuotaState,
  operationId: string,
  { sender: { mailboxId }, most, now }: Taking,
): readonly QuotaFact[] {
  if (taken.has(operationId) && !givenBack.has(operationId)) return [];
  const counted = [...taken].filter(([id]) => !givenBack.has(id));
  if (counted.length >= most.inAll)
    throw exceeded(now, `An agent may send ${String(most.inAll)} mails in an hour.`, most.inAll);
  if (counted.filter(([, from]) => from === mailboxId).length >= most.fromMailbox) {
    const message = `The grant on this mailbox allows ${String(most.fromMailbox)} mails in an hour.`;
    throw exceeded(now, message, most.fromMailbox);
  }
  return [{ type: 'QuotaTaken', data: { operation_id: operationId, mailbox_id: mailboxId } }];
}

/** What was taken for an operation of this time counts no longer. Harmless when nothing was taken. */
export async function giveQuotaBack(
  ports: Writers,
  author: Author,
  principalId: string,
  operation: { readonly id: string; readonly intendedAt: Date },
): Promise<void> {
  // It was taken a moment before the intent, which may have been in the hour before.
  const { id, intendedAt } = operation;
  for (const at of [intendedAt, new Date(intendedAt.getTime() - HOUR_MS)]) {
    await decideAndAppend(ports, author, quota, {
      id: hourOf(principalId, at),
      decide: ({ taken, givenBack }): readonly QuotaFact[] =>
        taken.has(id) && !givenBack.has(id) ? [{ type: 'QuotaGivenBack', data: { operation_id: id } }] : [],
    });
  }
}

function exceeded(now: Date, message: string, limit: number): GatewayError {
  const left = HOUR_MS - (now.getTime() % HOUR_MS);
  return new GatewayError('quota_exceeded', message, {
    details: { quota: 'sends_per_hour', limit },
    retryAfterSeconds: Math.ceil(left / 1_000),
  });
}
