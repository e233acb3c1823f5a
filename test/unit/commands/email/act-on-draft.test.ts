import { expect } from 'chai';
import type { Draft } from '../../../../commands/drafts/draft-payload.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { getOperation } from '../../../../read-api/operations/read-operations.ts';
import { rejection } from '../../../support/rejection.ts';
import { SendRig } from '../../../support/send-rig.ts';

const NOTES = {
  filename: 'notes.txt',
  content_type: 'text/plain',
  content_base64: Buffer.from('notes').toString('base64'),
};
describe('a draft written by email.act', () => {
  const act = async (rig: SendRig, operation: object, key: string | null = 'key-1') => {
    const preview = key === null ? { authorization: { mode: 'preview' } } : {};
    const input = { mailbox_id: 'mbx_0', operation, ...preview };
    const { output } = await rig.invoke(actOnEmail, input, key);
    return output as OperationReply & { readonly draft: Draft };
  };
  const newDraft = (text: string) => ({
    type: 'draft_create',
    draft: { to: ['bob@example.org'], text, attachments: [NOTES] },
  });

  it('names no operation: it is over, and none could be read', async () => {
    const rig = new SendRig();
    expect(await act(rig, newDraft('One.'))).not.to.have.property('operation_id');
    const read = rig.invoke(getOperation, { operation_id: rig.operationId('key-1') }, null);
    expect(await rejection(read)).to.include({ code: 'not_found' });
  });
});
