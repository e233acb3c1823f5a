import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import { storeBody } from '../../../../commands/drafts/draft-body.ts';
import { type DraftEnvelope, sealEnvelope } from '../../../../commands/drafts/draft-envelope.ts';
import { freezeMessage } from '../../../../commands/sending/freeze-draft.ts';
import { bodyHash, buildSendManifest } from '../../../../commands/sending/request-send.ts';
import { manifestText } from '../../../../commands/operations/manifest.ts';
import { bytesOf } from '../../../support/samples/composed-message.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const NONCE = '00112233445566778899aabbccddeeff';
const FILE = Buffer.from('%PDF-1.7 an invoice');
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const ENVELOPE: DraftEnvelope = {
  from: { name: 'Anna', email: 'anna@example.com' },
  to: [{ name: 'Zoë', email: 'zoe@bücher.example' }],
  cc: [{ name: null, email: 'carol@example.org' }],
  bcc: [{ name: null, email: 'secret@bücher.example' }],
  reply_to: [{ name: null, email: 'desk@example.com' }],
  subject: 'Grüße',
  headers: { 'X-Ticket': 'T-1' },
  attachments: [{ id: 'upl_1', filename: 'invoice.pdf', content_type: 'application/pdf', content_id: null }],
};

describe('buildSendManifest', () => {
  it('describes everything that a reader of the frozen bytes finds', async () => {
    const rig = new SendRig();
    const draftId = rig.ports.ids.newId('drf');
    const owner = { mailboxId: 'mbx_0', draftId };
    const body = { text: 'Hello', html: '<p>Hello</p>', markdown: 'Hello' };
    await rig.content.put(
      {
        ...{ id: 'upl_1', kind: 'upload', owner, filename: 'invoice.pdf', contentType: 'application/pdf' },
        ...{ maxBytes: 1_000, expiresAt: null },
      },
      bytesOf(FILE.subarray(0, 7), FILE.subarray(7)),
    );
    const draft = {
      version: 3,
      envelope: await sealEnvelope(rig.ports.personal, 'mbx_0', ENVELOPE),
      content_id: await storeBody(rig.content, 'body_1', owner, body),
      content_hash: 'hash',
      // The hash of a received attachment is unknown before the message is composed.
      attachments: [{ id: 'upl_1', size: FILE.length, sha256: null }],
    };
    await rig.append(draftId, {
      type: 'DraftStarted',
      data: {
        ...{ mailbox_id: 'mbx_0', kind: 'reply', source_message_id: null, draft },
        threading: { clear: { in_reply_to: '<q@example.org>', references: ['<q@example.org>'] } },
      },
    });
    const mailbox = rig.ports.directory.state.mailboxes.get('mbx_0');
    if (!mailbox) throw new Error('no mailbox');
    const state = await rig.draft(draftId);
    const message = await freezeMessage(rig.ports, { draftId, operationId: 'opn_1', mailbox, state });
    const manifest = buildSendManifest(NONCE, { mailboxId: 'mbx_0', draftId }, message);
    manifestText(manifest);

    const pieces: Uint8Array[] = [];
    for await (const piece of rig.content.open(message.frozen.mime_id)) pieces.push(piece);
    const raw = Buffer.concat(pieces);
    const sent = await simpleParser(raw);
    expect(manifest).to.deep.equal({
      kind: 'send_draft',
      nonce: NONCE,
      operation_id: 'opn_1',
      mailbox_id: 'mbx_0',
      draft_id: draftId,
      draft_version: 3,
      envelope: {
        from: 'anna@example.com',
        to: ['zoe@xn--bcher-kva.example', 'carol@example.org', 'secret@xn--bcher-kva.example'],
      },
      headers: {
        from: { name: 'Anna', email: 'anna@example.com' },
        to: [{ name: 'Zoë', email: 'zoe@xn--bcher-kva.example' }],
        cc: [{ name: null, email: 'carol@example.org' }],
        bcc: [{ name: null, email: 'secret@xn--bcher-kva.example' }],
        reply_to: [{ name: null, email: 'desk@example.com' }],
        subject: sent.subject,
        message_id: sent.messageId,
        in_reply_to: sent.inReplyTo,
        references: [sent.references].flat(),
        other: [{ name: 'X-Ticket', value: 'T-1' }],
      },
      body_sha256: bodyHash({ text: sent.text?.trimEnd() ?? '', html: String(sent.html).trimEnd() }),
      attachments: [
        {
          filename: sent.attachments[0]?.filename,
          content_type: sent.attachments[0]?.contentType,
          size: FILE.length,
          sha256: sha256(sent.attachments[0]?.content ?? Buffer.alloc(0)),
        },
      ],
      mime_sha256: sha256(raw),
      mime_size: raw.length,
    });
    expect(manifest.attachments[0]?.sha256).to.equal(sha256(FILE));
    expect(sent.headers.get('x-ticket')).to.equal('T-1');
    expect(sent.headers.has('date')).to.equal(false);
    expect(raw.toString('latin1')).not.to.include('secret');
  });
});
