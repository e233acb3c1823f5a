/** What the seal of the trail is worth now, in words: up to which line, who outside holds it, and when it was checked. */
import { CHECK, CROSS, QUESTION } from './badges.js';

/** @import { Anchor, SealFacts, Verification } from './audit-payloads.d.ts' */
/** @typedef {import('./badges.js').StatusWords} StatusWords */
/** @typedef {Pick<Anchor, 'kind' | 'name' | 'at'>} Outside */

/** The whole trail is checked daily while lines are added; if one was sealed later than this, a check is missing. */
const CHECKED_WITHIN_MS = 2 * 86_400_000;

/** @type {Readonly<Record<string, string>>} by the reason of `AuditSealBroken` */
const BROKEN_BECAUSE = {
  read_model: 'The index of the trail is not what the log says.',
  root_differs: 'Lines that were signed are not what they were.',
  log_is_shorter: 'Lines that were signed are missing from the log.',
  note_missing: 'A checkpoint that the log tells of is missing from the memory of the sealer.',
  signature_differs: 'The signature of the last checkpoint is not that of the key of the trail.',
  key_missing: 'The key that signed the trail is missing.',
  memory_altered: 'The memory of the sealer is not what the sealer wrote.',
  revision_missing: 'An event between others is missing from the log.',
  anchor_differs: 'A checkpoint stored outside is of another history.',
};

/**
 * @param {SealFacts} facts
 * @returns {{ badge: StatusWords, reasons: string[], sealedThrough: number, outside: readonly Outside[] }}
 */
export function sealWords(facts) {
  const [latest] = facts.checkpoints;
  const outside = outsideOf(facts);
  const size = latest?.size ?? 0;
  const stopped = stoppedReasons(facts.verification);
  const doubts = [
    ...earlierFinding(facts.verification),
    ...(latest === undefined
      ? ['No line is sealed yet. The first checkpoint follows within about a minute.']
      : []),
    ...(outside.length === 0
      ? [
          'Nobody outside holds a checkpoint: who has the key and the databases could write another history. Subscribe a webhook to audit.checkpoint_sealed, or have the operator set AUDIT_ANCHOR_DIR.',
        ]
      : []),
    ...checkDoubts(facts),
    ...failedAnchors(facts),
  ];
  const badge = stopped.length > 0 ? BROKEN : doubts.length > 0 ? DOUBTED : GOOD;
  return { badge, reasons: [...stopped, ...doubts], sealedThrough: size, outside };
}

/** @type {StatusWords} */
const GOOD = { label: 'Sealed, and held outside', tone: 'good', path: CHECK, about: '' };
/** @type {StatusWords} */
const DOUBTED = { label: 'Not all is proven', tone: 'ask', path: QUESTION, about: '' };
/** @type {StatusWords} */
const BROKEN = { label: 'Seal broken', tone: 'bad', path: CROSS, about: '' };

/** @param {Verification} verification */
function stoppedReasons({ stopped }) {
  if (stopped === null) return [];
  return [
    `Nothing more is signed. ${becauseOf(stopped)}`,
    stopped === 'read_model'
      ? 'The log is as it was signed. Signing continues once the index is rebuilt: npm run rebuild -- audit.'
      : 'Keep the databases as they are. An operator compares them with a backup and with checkpoints held outside, then begins a new epoch.',
  ];
}

/**
 * What the last check found stays known until the next one, also when it no longer stops anything.
 * @param {Verification} verification
 */
function earlierFinding({ broken, stopped, epoch }) {
  if (broken === null || stopped !== null) return [];
  return [
    broken.epoch < epoch
      ? `In an earlier epoch the last check found: ${becauseOf(broken.reason)} Signing continues, and the next check is about this epoch.`
      : `The last check found: ${becauseOf(broken.reason)} That was mended, and signing continues.`,
  ];
}

/** @param {string} reason */
const becauseOf = (reason) => BROKEN_BECAUSE[reason] ?? 'The trail is not what was signed.';

/** @param {SealFacts} facts */
function checkDoubts({ verification: { verified_at: checkedAt }, checkpoints: [latest] }) {
  if (checkedAt === null) return ['The whole trail was not checked yet. It is checked daily.'];
  const since = Date.parse(latest?.sealed_at ?? checkedAt) - Date.parse(checkedAt);
  return since > CHECKED_WITHIN_MS
    ? ['The whole trail was not checked for more than two days, though lines were added.']
    : [];
}

/** @param {SealFacts} facts */
function failedAnchors({ checkpoints }) {
  const failed = (checkpoints[0]?.anchors ?? []).filter(({ state }) => state === 'failed');
  return failed.map(
    ({ kind, name, error }) =>
      `The newest checkpoint could not be stored: ${kind} ${name}${error === undefined ? '' : ` (${error.code})`}.`,
  );
}

/**
 * The newest confirmed one of each place outside.
 * @param {SealFacts} facts
 * @returns {readonly Outside[]}
 */
function outsideOf({ checkpoints, anchored }) {
  /** @type {Map<string, Outside>} */
  const places = new Map();
  const add = (/** @type {Outside} */ place) => {
    const key = `${place.kind} ${place.name}`;
    const before = places.get(key);
    if (before === undefined || before.at < place.at) places.set(key, place);
  };
  for (const { anchors } of checkpoints)
    for (const anchor of anchors) if (anchor.state === 'confirmed') add(anchor);
  const { kind, name } = anchored?.data ?? {};
  if (anchored?.occurred_at != null && typeof kind === 'string' && typeof name === 'string')
    add({ kind, name, at: anchored.occurred_at });
  return [...places.values()];
}
