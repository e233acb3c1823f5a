/** Changes between approval and commit of message actions: only what was approved runs, and a refusal says why. */
import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import type { FolderEntry, MailboxEntry } from '../../../../commands/ports/directory.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { contentHashOf } from '../../../../commands/operations/manifest.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { NEEDS_APPROVAL, type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rewritten } from '../../../support/fakes/rewritten-events.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

interface Scene {
  readonly rig: ApprovalRig;
  readonly reply: OperationReply;
}

const MESSAGES = ['<1@example.com>', '<2@example.com>'];

/** Two messages whose move to the archive was requested and approved. */
async function approved(): Promise<Scene> {
  const rig = approvalRig();
  const boss = rig.person('usr_boss', 'owner');
  const ids = MESSAGES.map((messageId) => rig.arrive('INBOX', messageId));
  rig.arrive('INBOX', '<bystander@example.com>');
  const reply = await rig.ask(ids, 'archive');
  await rig.approvalAs(boss, decideApproval, {
    approval_id: reply.approval?.id,
    decision: 'approve',
    content_hash: reply.approval?.content_hash,
  });
  return { rig, reply };
}

const commit = ({ rig, reply }: Scene): Promise<unknown> =>
  rig.invokeAs(rig.caller, commitApproval, { approval_id: reply.approval?.id });

function changeFolders(
  { rig }: Scene,
  change: (folders: readonly FolderEntry[]) => readonly FolderEntry[],
): void {
  const mailboxes = rig.ports.directory.state.mailboxes as Map<string, MailboxEntry>;
  const entry = mailboxes.get('mbx_0');
  if (entry) mailboxes.set(entry.id, { ...entry, folders: change(entry.folders) });
}

const renamed = (number: number) => (folders: readonly FolderEntry[]) =>
  folders.map((folder) => (folder.number === number ? { ...folder, path: 'Elsewhere' } : folder));

/** The manifest in the log with one word replaced. */
const inManifest = ({ rig, reply }: Scene, from: RegExp | string, to: string): void => {
  rewritten(rig.events, `operation-${reply.operation_id ?? ''}`, 'ApprovalRequested', (data) => {
    const manifest = String(data['manifest']).replace(from, to);
    expect(manifest, 'something was exchanged').not.to.equal(data['manifest']);
    return { ...data, manifest };
  });
};

/** An attacker who can rewrite the whole request and its hash. */
function exchangeBoth({ rig, reply }: Scene): void {
  rewritten(rig.events, `operation-${reply.operation_id ?? ''}`, 'ApprovalRequested', (data) => {
    const manifest = String(data['manifest']).replace(
      '"folder":2,"folder_path":"Archive"',
      '"folder":3,"folder_path":"Trash"',
    );
    const text = manifest.slice('sealed:mbx_0:'.length);
    return { ...data, manifest, content_hash: contentHashOf(text) };
  });
}

interface Tampering {
  readonly change: (scene: Scene) => void;
  readonly code: string;
  readonly reason: string;
  readonly policy?: object;
}

const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  'the destination was renamed': {
    change: (scene) => {
      changeFolders(scene, renamed(2));
    },
    code: 'selection_changed',
    reason: 'targets_gone',
  },
  'the destination is missing': {
    change: (scene) => {
      changeFolders(scene, (folders) => folders.filter(({ number }) => number !== 2));
    },
    code: 'selection_changed',
    reason: 'targets_gone',
  },
  'a message is missing': {
    change: ({ rig }) => {
      rig.mailbox.folder('INBOX').messages.delete(2);
    },
    code: 'selection_changed',
    reason: 'targets_gone',
  },
  'another message is at the place': {
    change: ({ rig }) => {
      rig.mailbox.folder('INBOX').messages.set(2, { messageId: '<payroll@example.com>', flags: new Set() });
    },
    code: 'selection_changed',
    reason: 'targets_gone',
  },
  'the folder was recreated': {
    change: ({ rig }) => {
      Object.assign(rig.mailbox.folder('INBOX'), { uidValidity: 77 });
    },
    code: 'selection_changed',
    reason: 'targets_gone',
  },
  'policy denies it now': {
    change: ({ rig }) => {
      rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'deny' } });
    },
    code: 'approval_invalidated',
    reason: 'policy_stricter',
    policy: { decision: 'deny', rule_id: NEEDS_APPROVAL.id, policy_version: 2 },
  },
  'policy requires more approvals now': {
    change: ({ rig }) => {
      rig.rules({ ...NEEDS_APPROVAL, then: { ...NEEDS_APPROVAL.then, quorum: 2 } });
    },
    code: 'approval_invalidated',
    reason: 'policy_stricter',
    policy: { decision: 'require', rule_id: NEEDS_APPROVAL.id, policy_version: 2 },
  },
  'policy requires a higher role now': {
    change: ({ rig }) => {
      rig.rules({ ...NEEDS_APPROVAL, then: { ...NEEDS_APPROVAL.then, approver_role: 'owner' } });
    },
    code: 'approval_invalidated',
    reason: 'policy_stricter',
    policy: { decision: 'require', rule_id: NEEDS_APPROVAL.id, policy_version: 2 },
  },
  'the destination in the manifest was replaced': {
    change: (scene) => {
      inManifest(scene, '"folder":2', '"folder":3');
    },
    code: 'approval_invalidated',
    reason: 'manifest_mismatch',
  },
  'the action in the manifest was replaced': {
    change: (scene) => {
      inManifest(scene, '"action":"archive"', '"action":"expunge"');
    },
    code: 'approval_invalidated',
    reason: 'manifest_mismatch',
  },
  'a message in the manifest was replaced': {
    change: (scene) => {
      inManifest(scene, /msg_[0-9a-z]+/, scene.rig.idOf('INBOX', 3));
    },
    code: 'approval_invalidated',
    reason: 'manifest_mismatch',
  },
  'a space was added to the manifest': {
    change: (scene) => {
      inManifest(scene, '{"', '{ "');
    },
    code: 'approval_invalidated',
    reason: 'manifest_mismatch',
  },
  'manifest and hash were replaced, but not the votes': {
    change: exchangeBoth,
    code: 'approval_invalidated',
    reason: 'manifest_mismatch',
  },
};

describe(`an approved change of messages ${verifies('contract:9:commit-checks', 'contract:10:invalidated')}`, () => {
  it('runs when nothing was tampered with', async () => {
    const scene = await approved();
    await commit(scene);
    expect(scene.rig.mailbox.effects).to.deep.equal([['INBOX 1', 'INBOX 2']]);
  });

  for (const [name, { change, code, reason, policy }] of Object.entries(TAMPERINGS)) {
    it(`does not run when ${name}, and says why in answer and event`, async () => {
      const scene = await approved();
      const { rig, reply } = scene;
      change(scene);
      const lying = JSON.stringify([...rig.mailbox.folder('INBOX').messages.keys()]);
      const refused = await rejection(commit(scene));
      expect(refused).to.be.instanceOf(GatewayError);
      expect(refused).to.include({ code });
      expect(refused).to.have.nested.property('details.reason', reason);
      expect(rig.mailbox.effects).to.deep.equal([]);
      expect(JSON.stringify([...rig.mailbox.folder('INBOX').messages.keys()])).to.equal(lying);
      const written = (await rig.events.readStream(`operation-${reply.operation_id ?? ''}`)).at(-1);
      expect(written?.type).to.equal('ApprovalInvalidated');
      expect(written?.data).to.deep.equal({ reason, policy: policy ?? null });
      expect(await rig.typesOf(reply)).not.to.include('ActionsIntended');
      expect(await rejection(commit(scene)), 'nor at the next attempt').to.include({
        code: 'approval_invalidated',
      });
      expect(rig.mailbox.effects).to.deep.equal([]);
    });
  }

  it('does not run the manifest of another operation', async () => {
    const scene = await approved();
    const { rig, reply } = scene;
    rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'allow' } });
    const allowed = await rig.ask([rig.idOf('INBOX', 3)], 'archive', 'prepare');
    const [asked] = rig.events.all.filter(
      ({ type, streamName }) =>
        type === 'ApprovalRequested' && streamName === `operation-${reply.operation_id ?? ''}`,
    );
    rewritten(rig.events, `operation-${allowed.operation_id ?? ''}`, 'ApprovalRequested', (data) => ({
      ...data,
      manifest: asked?.data['manifest'],
      content_hash: asked?.data['content_hash'],
    }));
    expect(await rejection(commit({ rig, reply: allowed }))).to.have.nested.property(
      'details.reason',
      'manifest_mismatch',
    );
    expect(rig.mailbox.effects).to.deep.equal([]);
  });

  it('touches only messages of the manifest when the log names other targets', async () => {
    const scene = await approved();
    const { rig, reply } = scene;
    rewritten(rig.events, `operation-${reply.operation_id ?? ''}`, 'OperationSubmitted', (data) => ({
      ...data,
      targets: [{ message_id: rig.idOf('INBOX', 3), stale: false }],
      rfc_message_ids: { clear: ['<bystander@example.com>'] },
    }));
    await commit(scene).catch((error: unknown) => {
      expect(error).to.be.instanceOf(GatewayError);
    });
    expect(rig.mailbox.effects.flat()).not.to.include('INBOX 3');
    expect(rig.mailbox.folder('INBOX').messages.has(3)).to.equal(true);
  });
});
