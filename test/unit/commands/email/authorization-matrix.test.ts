/** Mode × policy × caller × operation: every cell of the table of `contract.md` 6, run through email.act. */
import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import type { PolicyEntry } from '../../../../commands/ports/directory.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { type Mode, MODES } from '../../../../commands/operations/authorize-operation.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { ACTION_TYPES } from '../../../../commands/operations/operation-events.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';
import { seatMember } from '../../../support/worlds/people.ts';

const DECISIONS = ['allow', 'require', 'deny'] as const;
type Decision = (typeof DECISIONS)[number];
const ACTORS = ['agent', 'delegated', 'person'] as const;
type Actor = (typeof ACTORS)[number];
const DRAFT_TYPES = ['draft_create', 'draft_reply', 'draft_edit', 'draft_discard'] as const;
const TYPES = [...ACTION_TYPES, 'draft_send', ...DRAFT_TYPES] as const;
type Type = (typeof TYPES)[number];

/** A status of the reply, or the code of the refusal. */
type Table = Readonly<Record<Mode, Readonly<Record<Decision, string>>>>;

const PREVIEW = { allow: 'preview', require: 'preview', deny: 'preview' };
const TABLE: Table = {
  execute_or_request_approval: { allow: 'completed', require: 'awaiting_approval', deny: 'policy_denied' },
  execute: { allow: 'completed', require: 'approval_required', deny: 'policy_denied' },
  request_approval: { allow: 'awaiting_approval', require: 'awaiting_approval', deny: 'policy_denied' },
  prepare: { allow: 'pending_commit', require: 'awaiting_approval', deny: 'policy_denied' },
  preview: PREVIEW,
};
/** It never runs directly; the default mode acts as `prepare`. */
const EXPUNGE: Table = {
  ...TABLE,
  execute_or_request_approval: TABLE.prepare,
  execute: { allow: 'approval_required', require: 'approval_required', deny: 'policy_denied' },
};
/** A draft has no approval of its own. */
const UNSUPPORTED = {
  allow: 'operation_unsupported',
  require: 'operation_unsupported',
  deny: 'operation_unsupported',
};
const DRAFT: Table = {
  execute_or_request_approval: TABLE.execute,
  execute: TABLE.execute,
  request_approval: UNSUPPORTED,
  prepare: UNSUPPORTED,
  preview: PREVIEW,
};

const tableOf = (type: Type): Table =>
  type === 'expunge' ? EXPUNGE : (DRAFT_TYPES as readonly string[]).includes(type) ? DRAFT : TABLE;

const policyThat = (decision: Decision): PolicyEntry =>
  policyEntry([{ id: 'the-rule', when: {}, then: { decision } }], { version: 7 });

function rigFor(actor: Actor, decision: Decision): SendRig {
  const rig = new SendRig({
    kind: actor === 'agent' ? 'agent' : 'user',
    policy: policyThat(decision),
    mailbox: {
      folders: ['INBOX', 'Sent', 'Archive', 'Trash', 'Junk', 'Work'].map((path, at) => ({
        number: at + 1,
        path,
      })),
      detectedRoles: { inbox: 1, sent: 2, archive: 3, trash: 4, junk: 5 },
    },
  });
  seatMember(rig.ports.directory.state, 'org_1', 'usr_approver', 'approver');
  if (actor !== 'person') return rig;
  const session = { id: 'ses_1', steppedUpUntil: '2100-01-01T00:00:00.000Z' };
  const caller: Caller = { ...rig.caller, actor: 'person', session };
  return Object.assign(rig, { caller });
}

/** A message in the folder that the action needs, and the action. */
function actionOn(rig: SendRig, type: (typeof ACTION_TYPES)[number]) {
  const folderNumber = type === 'not_spam' ? 5 : 1;
  const path = type === 'not_spam' ? 'Junk' : 'INBOX';
  const uid = rig.mailbox.add(path, '<1@example.org>');
  const { uidValidity } = rig.mailbox.folder(path);
  const id = rig.ports.locators.message({ mailboxNumber: 0, folderNumber, uidValidity, uid });
  const fields =
    type === 'move' || type === 'copy' ? { folder: 'Work' } : type === 'set_flags' ? { seen: true } : {};
  return { type: 'message_actions', select: { message_ids: [id] }, actions: [{ type, ...fields }] };
}

async function operationOf(rig: SendRig, type: Type): Promise<object> {
  switch (type) {
    case 'draft_create':
      return { type, draft: { to: ['bob@example.org'], text: 'Hi' } };
    case 'draft_reply': {
      const action = actionOn(rig, 'archive');
      return { type, message_id: action.select.message_ids[0], text: 'Hi' };
    }
    case 'draft_edit':
      return { type, draft_id: await rig.startDraft(), patch: { subject: 'Other' } };
    case 'draft_discard':
    case 'draft_send':
      return { type, draft_id: await rig.startDraft() };
    default:
      return actionOn(rig, type);
  }
}

interface Answer {
  readonly status: string;
  readonly policy: unknown;
  readonly reply: OperationReply | null;
}

async function ask(rig: SendRig, operation: object, mode: Mode): Promise<Answer> {
  const input = { mailbox_id: 'mbx_0', operation, authorization: { mode } };
  try {
    const { output } = await rig.invoke(actOnEmail, input, mode === 'preview' ? null : 'key-1');
    const reply = output as OperationReply;
    return { status: reply.status, policy: reply.preview?.policy, reply };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { status: error.code, policy: error.details['policy'], reply: null };
  }
}

/** Exactly the effects of each answer. */
async function checkTraces(
  rig: SendRig,
  { status }: Answer,
  before: { readonly events: number; readonly type: Type },
) {
  const written = rig.parts.events.all.slice(before.events);
  const effects = rig.mailbox.commands.length + rig.submission.taken.length;
  const isDraft = (DRAFT_TYPES as readonly string[]).includes(before.type);
  const types = written.map(({ type }) => type);
  if (status === 'completed') {
    expect(effects, 'effects').to.equal(isDraft ? 0 : 1);
    expect(types).to.include(
      isDraft ? 'RequestSettled' : before.type === 'draft_send' ? 'DraftSent' : 'OperationCompleted',
    );
    expect(types).not.to.include('ApprovalRequested');
    return written;
  }
  expect(effects, 'effects').to.equal(0);
  if (status === 'awaiting_approval' || status === 'pending_commit') {
    expect(types.filter((type) => type !== 'DraftFrozen')).to.deep.equal([
      'OperationSubmitted',
      'OperationDecided',
      'ApprovalRequested',
      ...(status === 'pending_commit' ? ['ApprovalGranted'] : []),
    ]);
  } else {
    expect(types, 'nothing is written').to.deep.equal([]);
  }
  return written;
}

async function checkCell(cell: {
  readonly type: Type;
  readonly actor: Actor;
  readonly mode: Mode;
  readonly decision: Decision;
}) {
  const { type, actor, mode, decision } = cell;
  const rig = rigFor(actor, decision);
  const operation = await operationOf(rig, type);
  const before = { events: rig.parts.events.all.length, type };
  const answer = await ask(rig, operation, mode);
  expect(answer.status).to.equal(tableOf(type)[mode][decision]);
  const written = await checkTraces(rig, answer, before);
  const policy = { decision, rule_id: 'the-rule', version: 7 };
  if (answer.policy !== undefined || answer.status.startsWith('policy_') || answer.status === 'preview') {
    expect(answer.policy, 'the answer names the rule').to.deep.equal(policy);
  }
  const decided = written.find((event) => event.type === 'OperationDecided');
  if (decided) expect(decided.data).to.deep.equal({ decision, rule_id: 'the-rule', policy_version: 7 });
  const asked = written.find((event) => event.type === 'OperationSubmitted');
  if (asked) expect(asked.metadata['actor']).to.deep.include({ type: actor });
  if (answer.reply?.approval) {
    expect(answer.reply.approval).to.include({ status: answer.status });
    expect(answer.reply.approval.id.slice(4)).to.equal(answer.reply.operation_id?.slice(4));
  }
}

describe(`authorization of email_act in every mode under every decision ${verifies('contract:6:modes', 'contract:6:check-modes', 'contract:8:names-rule')}`, () => {
  for (const type of TYPES) {
    for (const actor of ACTORS) {
      it(`decides on ${type} of ${actor === 'agent' ? 'an agent' : actor === 'person' ? 'a person signed in' : 'a token of a person'}`, async () => {
        for (const mode of MODES) {
          for (const decision of DECISIONS) {
            try {
              await checkCell({ type, actor, mode, decision });
            } catch (error) {
              throw new Error(`${mode} where policy says ${decision}`, { cause: error });
            }
          }
        }
      });
    }
  }
});
