/** Commits an approval of message actions: runs exactly its messages and steps, like a direct request. */
import { foldFacts } from '../kernel/decide-and-append.ts';
import type { FolderEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { MessageRef } from '../mail/message.ts';
import type { Ports } from '../ports/ports.ts';
import { isFolderAllowed } from '../kernel/folders.ts';
import { policyInForce } from '../policy/decide-for-caller.ts';
import { decidePolicy } from '../policy/decide-policy.ts';
import { assertNotHeld } from '../kernel/legal-holds.ts';
import { destroys, scopesOf } from './actions.ts';
import { operation, type OperationFact, type OperationReply, summarise } from '../operations/operation.ts';
import type { ActionStep, ItemResult } from '../operations/operation-events.ts';
import { assertNotPaused, assertSupported, openTargets, type Target } from './prepare-operation.ts';
import { runOperation } from './run-operation.ts';
import { beginCommit } from '../operations/run-commit.ts';
import { isSameMessage, movedDestinations } from './actions-manifest.ts';
import {
  type CommitKind,
  commitOutcome,
  type Committable,
  type Executed,
} from '../operations/commit-kind.ts';
import type { ActionsManifest } from '../operations/manifest.ts';
import type { Invalidation } from '../operations/approval-events.ts';
import { approvalReply, invalidatedBy } from '../operations/approval-reply.ts';

type Ready = Committable<ActionsManifest>;
type Grounded = Pick<Ready, 'access' | 'mailbox' | 'manifest'>;

export const actionsCommit: CommitKind<ActionsManifest> = {
  kind: 'message_actions',
  scopes: ({ steps }) => scopesOf(steps.map(({ action }) => ({ type: action }))),
  decide: ({ directory }, { acting, orgId, state, manifest }) =>
    Promise.resolve(
      decidePolicy(policyInForce(directory.state, orgId), {
        ...acting,
        actions: manifest.steps.map(({ action }) => action),
        bulkCount: state.targets.length,
        send: null,
      }),
    ),
  lost,
  execute,
};

/** The steps as they run, without the paths, which are only for the approver. */
const stepsOf = ({ steps }: ActionsManifest): readonly ActionStep[] =>
  steps.map(({ folder_path: _path, ...step }) => step);

/** Tests the folders first, from the directory; then the reach of the grant; the mail server last. */
async function lost(
  ports: Ports,
  ground: Grounded,
  { asksServer }: { readonly asksServer: boolean },
): Promise<Invalidation | null> {
  const { mailbox, manifest } = ground;
  const refs = placesOf(ports, ground);
  const isThere = [...refs.values()].every(
    (ref) => ref !== null && isSelectable(mailbox.folders.find(({ number }) => number === ref.folder.number)),
  );
  if (!isThere || movedDestinations(manifest, mailbox).length > 0) return 'targets_gone';
  if (!isWithinGrant(ground, refs)) return 'grant_gone';
  if (!asksServer) return null;
  assertNotPaused(mailbox);
  const gone = await ports.mail.withMailbox(mailbox.id, 'bulk', (mail) => goneSince(mail, manifest, refs));
  return gone.length > 0 ? 'targets_gone' : null;
}

/** A container holds folders and no messages. */
const isSelectable = (folder: Pick<FolderEntry, 'availability'> | undefined): boolean =>
  (folder?.availability ?? 'selectable') === 'selectable';

const placesOf = (ports: Ports, ground: Grounded): Place['refs'] =>
  new Map(ground.manifest.items.map(({ message_id: id }) => [id, placeOf(ports, ground, id)]));

async function execute(ports: Ports, ready: Ready): Promise<Executed> {
  const { mailbox, manifest } = ready;
  const moved = movedDestinations(manifest, mailbox);
  const refs = placesOf(ports, ready);
  const unplaced = manifest.items.filter(({ message_id: id }) => refs.get(id) == null);
  if (moved.length > 0 || unplaced.length > 0)
    return changed(
      unplaced.map(({ message_id }) => message_id),
      moved.length,
    );
  if (!isWithinGrant(ready, refs))
    return { end: 'invalid', reason: 'grant_gone', refusal: invalidatedBy('grant_gone') };
  // Thrown, and no attempt: the approval keeps its time to be committed in.
  if (destroys(mailbox, stepsOf(manifest)))
    assertNotHeld(ports.directory, { kind: 'messages', mailboxId: mailbox.id });
  const begun: Begun = { at: null };
  try {
    assertNotPaused(mailbox);
    return await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) =>
      executeOn(mail, ports, { ready, refs, begun }),
    );
  } catch (error) {
    const isOurs = error instanceof GatewayError && error.code !== 'store_unavailable';
    if (begun.at !== null || !isOurs) throw error;
    return { end: 'no_effect', refusal: error };
  }
}

/** Set once the intent is appended: from then on a failure does not prove that nothing was done. */
interface Begun {
  at: Date | null;
}

interface Place {
  readonly ready: Ready;
  readonly refs: ReadonlyMap<string, MessageRef | null>;
  readonly begun: Begun;
}

/** Null for a folder that is no longer known. */
function placeOf({ locators }: Ports, { mailbox }: Grounded, messageId: string): MessageRef | null {
  const place = locators.openMessage(messageId);
  const folder = mailbox.folders.find(({ number }) => number === place?.folderNumber);
  return place && folder ? { folder, uidValidity: place.uidValidity, uid: place.uid } : null;
}

/** Tests source and destination folders. */
function isWithinGrant({ access, mailbox, manifest }: Grounded, refs: Place['refs']): boolean {
  const sources = [...refs.values()].flatMap((ref) => (ref === null ? [] : [ref.folder.number]));
  const destinations = manifest.steps.flatMap(({ folder }) => (folder === undefined ? [] : [folder]));
  return [...sources, ...destinations].every((number) => isFolderAllowed(access, mailbox, number));
}

/** The messages or folders are no longer what was approved: the approval ends, and nothing runs. */
function changed(gone: readonly string[], folders = 0): Executed {
  const what = folders > 0 ? 'A destination folder is' : `${String(gone.length)} of the messages are`;
  const refusal = new GatewayError(
    'selection_changed',
    `${what} no longer what was approved. Nothing was done; make a new request.`,
    { details: { message_ids: gone, folders, reason: 'targets_gone' } },
  );
  return { end: 'invalid', reason: 'targets_gone', refusal };
}

async function executeOn(mail: MailSession, ports: Ports, { ready, refs, begun }: Place): Promise<Executed> {
  const { mailbox, manifest, commit, state } = ready;
  const steps = stepsOf(manifest);
  const targets = (await openTargets(ports.personal, state)).flatMap((target): Target[] => {
    // An item that was gone at the request keeps that outcome.
    const ref = target.stale ? placeOf(ports, ready, target.message_id) : refs.get(target.message_id);
    return ref ? [{ ...target, ref }] : [];
  });
  assertSupported(mail.capabilities, { mailbox, steps, targets });
  const gone = await goneSince(mail, manifest, refs);
  if (gone.length > 0) return changed(gone);
  const { min, max } = ready.approval.requested.cardinality ?? { min: 1, max: state.targets.length };
  if (state.targets.length < min || state.targets.length > max) return changed([]);
  const told: OperationFact[] = [];
  const begin = async (observed: readonly ActionStep[]): Promise<bigint | null> => {
    const intent: OperationFact = { type: 'ActionsIntended', data: { steps: [...observed] } };
    const first = await beginCommit(ports, ready, intent);
    begun.at = first?.at ?? null;
    told.push(ready.started, intent);
    return first?.loaded.revision ?? null;
  };
  const ending = (results: readonly ItemResult[]): readonly OperationFact[] => {
    const at = begun.at ?? ports.clock.now();
    const { approval } = foldFacts(operation, state, told, { author: commit.author, at });
    const end = commitOutcome(approval, results, ports.clock.now());
    const summary = summarise(results);
    told.push({ type: 'ActionOutcomesRecorded', data: { results: [...results] } });
    told.push({ type: 'OperationCompleted', data: { summary } }, ...end);
    return end;
  };
  const { operationId, author } = commit;
  const end = await runOperation(mail, ports, author, {
    operationId,
    mailbox,
    steps,
    targets,
    hasApproval: true,
    begin,
    ending,
  });
  if (end === 'not_begun') return { end: 'changed' };
  if (end === 'overtaken') throw overtaken();
  commit.notePosition(end.position);
  return { end: 'told', reply: replyAfter(ready, told, ports.clock.now()) };
}

/** This process slept past its lease; the process that found this reconciles the commit. */
const overtaken = (): GatewayError =>
  new GatewayError(
    'provider_timeout',
    'The commit took too long and is being reconciled; read its operation.',
    {
      retryAfterSeconds: 5,
    },
  );

const replyAfter = ({ commit, state }: Ready, facts: readonly OperationFact[], at: Date): OperationReply =>
  approvalReply(commit.operationId, foldFacts(operation, state, facts, { author: commit.author, at }), at);

/** Messages that are no longer at their place, or are not the ones that were approved. */
async function goneSince(
  mail: MailSession,
  { nonce, items, steps }: ActionsManifest,
  refs: Place['refs'],
): Promise<readonly string[]> {
  const places = items.flatMap(({ message_id: id }) => refs.get(id) ?? []);
  const faces = await mail.fetch(places, 'envelope', null);
  const isExpunge = steps.some(({ action }) => action === 'expunge');
  const gone: string[] = [];
  for (const [index, item] of items.entries()) {
    const face = faces[index] ?? null;
    const ref = places[index];
    const isThere =
      face === null
        ? isExpunge && ref !== undefined && (await isMarked(mail, ref))
        : isSameMessage(nonce, item, face);
    if (!isThere) gone.push(item.message_id);
  }
  return gone;
}

/**
 * An interrupted expunge may have marked its message already. Such a message is no longer fetched but still
 * exists: a UID never names another message (RFC 9051 2.3.1.1).
 */
async function isMarked(mail: MailSession, { folder, uidValidity, uid }: MessageRef): Promise<boolean> {
  return (await mail.look(folder, uidValidity, [uid])).presentUids.has(uid);
}
