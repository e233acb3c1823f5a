import { expect } from 'chai';
import { editDraftCapability, patchDraftCapability } from '../../../../commands/drafts/edit-draft.ts';
import { inOnePiece } from '../../../../commands/drafts/draft-body.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';
import type { Draft } from '../../../../commands/operations/draft-shape.ts';

const KIB = 1024;

/** A file of this many KiB in JSON. */
const file = (kib: number) => ({
  filename: 'file.bin',
  content_base64: Buffer.alloc(kib * KIB, kib).toString('base64'),
});

describe('limit of inline attachments', () => {
  let rig: SendRig;
  let draftId: string;
  let requests = 0;

  beforeEach(async () => {
    rig = new SendRig();
    draftId = await rig.startDraft();
  });

  const changed = async (change: object): Promise<Draft> => {
    const { output } = await rig.invoke(
      patchDraftCapability,
      { draft_id: draftId, ...change },
      `key-${String((requests += 1))}`,
    );
    return output as Draft;
  };
  const add = (...attachments: readonly object[]): Promise<Draft> =>
    changed({ attachments: { add: attachments } });
  const refused = async (work: Promise<unknown>): Promise<void> => {
    const error = await rejection(work);
    expect(error).to.deep.include({ code: 'payload_too_large', details: { max_bytes: 256 * KIB } });
  };

  it('is 256 KiB over all patches of a draft', async () => {
    await add(file(100), file(100));
    await refused(add(file(57)));
    const { attachments } = await add(file(56));
    expect(attachments.map(({ size }) => size / KIB)).to.deep.equal([100, 100, 56]);
    await refused(add(file(1)));
    await changed({ subject: 'Another' });
    const [first] = attachments;
    await changed({ attachments: { add: [file(99)], remove: [first?.id] } });
  });

  it('counts attachments that an edit names again', async () => {
    const { attachments } = await add(file(200));
    const kept = attachments.map(({ id }) => ({ id }));
    const edit = (...more: readonly object[]) => {
      const whole = { to: [], cc: [], bcc: [], subject: '', text: '', attachments: [...kept, ...more] };
      const key = `key-${String((requests += 1))}`;
      return rig.invoke(editDraftCapability, { draft_id: draftId, ...whole }, key);
    };
    await refused(edit(file(57)));
    await edit(file(56));
  });

  it('leaves uploads out', async () => {
    const upload = {
      id: rig.ports.ids.newId('upl'),
      kind: 'upload',
      owner: { mailboxId: 'mbx_0', draftId },
      filename: 'large.bin',
      contentType: 'application/zip',
      maxBytes: 1_000 * KIB,
      expiresAt: null,
    } as const;
    await rig.content.put(upload, inOnePiece(Buffer.alloc(500 * KIB)));
    await add({ id: upload.id }, file(256));
    await refused(add(file(1)));
  });
});
