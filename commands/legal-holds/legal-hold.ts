/** A legal hold: placed by one person, released by two. Nothing that it names is destroyed meanwhile. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { HOLD_TARGETS, type HoldState } from '../ports/legal-holds.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { sealedText } from '../values/event-fields.ts';
import { isMailboxId } from '../values/ids.ts';

const LegalHoldPlaced = defineEvent({
  type: 'LegalHoldPlaced',
  summary: 'A person placed a legal hold: nothing that it names is destroyed until it is released.',
  data: z.object({
    name: z.string(),
    /** Sealed under the id of the hold: it outlives the account of who placed it. */
    reason: sealedText,
    targets: z.array(
      z.object({
        type: z.enum(HOLD_TARGETS),
        id: z.string(),
        /** Of a draft or an approval: where it is. */
        mailbox_id: z.string().optional(),
        /** Of an approval: the draft that it sends. */
        draft_id: z.string().optional(),
      }),
    ),
  }),
  webhook: null,
});

const LegalHoldReleaseRequested = defineEvent({
  type: 'LegalHoldReleaseRequested',
  summary: 'A person asked for the release of a legal hold; it counts until a second one releases it.',
  data: z.object({ reason: sealedText }),
  webhook: null,
});

const LegalHoldReleased = defineEvent({
  type: 'LegalHoldReleased',
  summary: 'The second person released a legal hold, or the operator where there is no second person.',
  data: z.object({ reason: sealedText }),
  webhook: null,
});

const PersonalDataErasurePostponed = defineEvent({
  type: 'PersonalDataErasurePostponed',
  summary: 'An erasure met this legal hold; it waits for the release of the hold.',
  data: z.object({ owner_id: z.string() }),
  webhook: null,
});

export const legalHoldEvents = [
  LegalHoldPlaced,
  LegalHoldReleaseRequested,
  LegalHoldReleased,
  PersonalDataErasurePostponed,
] as const;
type LegalHoldEvent = (typeof legalHoldEvents)[number];
type Facts = readonly Fact<LegalHoldEvent>[];
export type HoldTerms = z.input<typeof LegalHoldPlaced.data>;
type Reason = z.input<typeof LegalHoldReleased.data>['reason'];

interface LegalHoldState {
  /** Null until it is placed. */
  readonly state: HoldState | null;
  readonly requestedBy: string | null;
  /** People and mailboxes whose erasure met it. */
  readonly postponed: readonly string[];
}

export const legalHold: Aggregate<LegalHoldState, LegalHoldEvent> = {
  category: 'legalHold',
  catalogue: catalogueOf(legalHoldEvents),
  initial: { state: null, requestedBy: null, postponed: [] },
  evolve: (state, fact: PastFact<LegalHoldEvent>) => {
    switch (fact.type) {
      case 'LegalHoldPlaced':
        return { ...state, state: 'active' };
      case 'LegalHoldReleaseRequested':
        return { ...state, state: 'release_requested', requestedBy: fact.meta.actor.id };
      case 'LegalHoldReleased':
        return { ...state, state: 'released' };
      case 'PersonalDataErasurePostponed':
        return { ...state, postponed: [...state.postponed, fact.data.owner_id] };
    }
  },
  // The mailbox whose erasure waits.
  about: (_, before, after) => {
    const id = after.postponed.at(before.postponed.length) ?? '';
    return isMailboxId(id) ? { mailbox_id: id } : {};
  },
};

/** Adds nothing when it was placed before: one request made the id. */
export const placeHold = ({ state }: LegalHoldState, terms: HoldTerms): Facts =>
  state === null ? [{ type: 'LegalHoldPlaced', data: terms }] : [];

interface Release {
  readonly userId: string;
  readonly reason: Reason;
}

/**
 * The first person asks for the release, the second one releases. Adds nothing to a released one. Throws `not_found`,
 * `self_approval_forbidden` for the person who asked.
 */
export function releaseHold({ state, requestedBy }: LegalHoldState, { userId, reason }: Release): Facts {
  switch (state) {
    case null:
      throw notFound('legal hold');
    case 'active':
      return [{ type: 'LegalHoldReleaseRequested', data: { reason } }];
    case 'release_requested':
      if (requestedBy === userId) throw needsSecond();
      return [{ type: 'LegalHoldReleased', data: { reason } }];
    case 'released':
      return [];
  }
}

const needsSecond = (): GatewayError =>
  new GatewayError(
    'self_approval_forbidden',
    'You asked for the release. A second person who manages legal holds has to release it. Without a second person the ' +
      'operator does, with "npm run admin -- hold release" on the machine.',
  );

interface ReleaseByOperator {
  /** People who may release holds now. */
  readonly eligible: readonly string[];
  readonly reason: Reason;
}

/**
 * The operator is the second where there is no second person, and both where there is nobody at all. Adds nothing to a
 * released one. Throws `not_found`, `conflict` while people have to do it.
 */
export function releaseByOperator(
  { state, requestedBy }: LegalHoldState,
  { eligible, reason }: ReleaseByOperator,
): Facts {
  if (state === null) throw notFound('legal hold');
  if (state === 'released') return [];
  const left = eligible.filter((id) => id !== requestedBy);
  if (left.length > 0) throw forPeople(state, left);
  return [
    ...(state === 'active' ? [{ type: 'LegalHoldReleaseRequested', data: { reason } } as const] : []),
    { type: 'LegalHoldReleased', data: { reason } },
  ];
}

const forPeople = (state: HoldState, userIds: readonly string[]): GatewayError =>
  new GatewayError(
    'conflict',
    state === 'active'
      ? `A person who manages legal holds has to ask for the release first: ${userIds.join(', ')}.`
      : `Another person can release it: ${userIds.join(', ')}. The operator releases only what no other person can.`,
  );

/** Once for each erasure. Adds nothing when the hold was released meanwhile. */
export const postponeErasure = ({ state, postponed }: LegalHoldState, ownerId: string): Facts =>
  state === null || state === 'released' || postponed.includes(ownerId)
    ? []
    : [{ type: 'PersonalDataErasurePostponed', data: { owner_id: ownerId } }];
