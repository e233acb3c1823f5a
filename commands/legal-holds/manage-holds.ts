/** POST /legal-holds, and the release of a hold by two people. */
import { z } from 'zod';
import { answerWhenKnown, type Context, defineCapability } from '../kernel/capability.ts';
import { type Author, decideAndAppend, loadAggregate, type Writer } from '../kernel/decide-and-append.ts';
import type { LegalHoldEntry } from '../ports/legal-holds.ts';
import type { Ports } from '../ports/ports.ts';
import { notFound } from '../values/errors.ts';
import { lineOfText } from '../values/input-fields.ts';
import type { Position } from '../values/position.ts';
import { findTarget } from './find-targets.ts';
import { describeHold, Hold, holdManagers, HoldTarget } from './hold-payload.ts';
import { legalHold, placeHold, releaseByOperator, releaseHold as decideRelease } from './legal-hold.ts';

const ACCESS = { any: ['holds:manage'], inSession: true } as const;
const MOST_TARGETS = 100;

const Reason = z
  .string()
  .min(1)
  .max(1_000)
  .refine((text) => text.isWellFormed(), 'This is not well-formed Unicode.');

const Targets = z
  .array(HoldTarget)
  .min(1)
  .max(MOST_TARGETS)
  .refine(
    (targets) => new Set(targets.map(({ id }) => id)).size === targets.length,
    'Name each target once.',
  );

const PlaceInput = z.strictObject({
  name: lineOfText(200).describe('What it is about, such as the name of a matter.'),
  reason: Reason.describe('Kept encrypted; those who manage legal holds see it.'),
  targets: Targets,
});
type PlaceInput = z.output<typeof PlaceInput>;

export const placeLegalHold = defineCapability<PlaceInput, Hold>({
  name: 'place_legal_hold',
  title: 'Place a legal hold',
  summary: 'Keeps people, mailboxes, drafts and approvals from being erased or destroyed.',
  description:
    'From the answer on nothing that it names is erased, expunged, moved to the trash or discarded on any process: 409 ' +
    'legal_hold. With an approval, draft or mailbox it keeps the accounts of who requested, voted on or cancelled its ' +
    'approvals; name other people as targets. Approvals still expire. It counts until two people have released it.',
  effect: 'write',
  access: ACCESS,
  rest: { method: 'post', path: '/legal-holds', status: 201, location: ({ id }) => `/legal-holds/${id}` },
  tool: null,
  idempotency: {
    kind: 'claim',
    // A first request that was interrupted is finished: the answer says that the hold counts everywhere.
    replay: async (id, _, context, settled) => (settled ? await shown(context, id) : null),
  },
  input: PlaceInput,
  output: Hold,
  handle: async (input, context) => {
    const { ports, writer, author, caller } = context;
    const targets = await Promise.all(
      input.targets.map((target) => findTarget(ports, caller.org.id, target)),
    );
    const id = await context.claim('hld');
    const terms = { name: input.name, reason: await ports.personal.seal(id, input.reason), targets };
    const { position } = await decideAndAppend(writer, author, legalHold, {
      id,
      decide: (state) => placeHold(state, terms),
    });
    context.notePosition(position);
    if (position !== null) await ports.directory.waitForAll(position);
    return await shown(context, id);
  },
});

/** A hold of the caller's organisation. Throws `not_found`. */
export function holdIn({ caller, ports }: Pick<Context, 'caller' | 'ports'>, id: string): LegalHoldEntry {
  const entry = ports.directory.state.legalHolds.get(id);
  if (entry?.orgId !== caller.org.id) throw notFound('legal hold');
  return entry;
}

const shown = (context: Context, id: string): Promise<Hold> =>
  describeHold(context.ports, holdIn(context, id));

const ReleaseInput = z.strictObject({
  hold_id: z.string().min(1).max(64),
  reason: Reason.describe('Why it is no longer needed; kept encrypted.'),
});

export const releaseLegalHold = defineCapability<z.output<typeof ReleaseInput>, Hold>({
  name: 'release_legal_hold',
  title: 'Release a legal hold',
  summary: 'Asks for the release of a legal hold, or releases it as the second person.',
  description:
    'The first person asks for the release, and the hold still counts. A second one releases it by the same request, and ' +
    'erasures that waited are resumed. If no other person manages legal holds, awaits is operator: npm run admin -- hold release.',
  effect: 'write',
  access: ACCESS,
  rest: { method: 'post', path: '/legal-holds/:hold_id/release' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { hold_id }, context, settled) => (settled ? await shown(context, hold_id) : null),
  },
  input: ReleaseInput,
  output: Hold,
  handle: async ({ hold_id: id, reason: text }, context) => {
    const { ports, writer, author, caller } = context;
    holdIn(context, id);
    const reason = await ports.personal.seal(id, text);
    const command = { userId: caller.principal.id, reason };
    const decide = (state: typeof legalHold.initial) => decideRelease(state, command);
    const loaded = await loadAggregate(ports.events, legalHold, id);
    decide(loaded.state);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, legalHold, { id, decide, loaded });
    await answerWhenKnown(context, position);
    return await shown(context, id);
  },
});

type OperatorPorts = Writer & Pick<Ports, 'directory' | 'personal'>;

/**
 * The operator on the machine releases a hold of the author's organisation. Returns null when it was released before. Throws
 * `conflict` while a second person can.
 */
export async function releaseAsOperator(
  ports: OperatorPorts,
  author: Author,
  { id, reason: text }: { readonly id: string; readonly reason: string },
): Promise<Position | null> {
  const { state } = ports.directory;
  const eligible = holdManagers(state, author.orgId ?? '');
  const reason = await ports.personal.seal(id, text);
  const { appended } = await decideAndAppend(ports, author, legalHold, {
    id,
    decide: (now) => releaseByOperator(now, { eligible, reason }),
  });
  if (appended) await ports.directory.waitFor(appended.position);
  return appended?.position ?? null;
}
