/** The manifest of a harmless send, which tests modify. */
import type { SendManifest } from '../../../commands/operations/manifest.ts';

export const sendManifest = (changes: Partial<SendManifest['headers']> = {}): SendManifest => {
  const headers = {
    from: { name: 'Anna', email: 'anna@example.com' },
    to: [{ name: 'Bob', email: 'bob@example.com' }],
    cc: [],
    bcc: [],
    reply_to: [],
    subject: 'Plan',
    message_id: '<1@example.com>',
    in_reply_to: null,
    references: [],
    other: [],
    ...changes,
  };
  return {
    kind: 'send_draft',
    nonce: '00112233445566778899aabbccddeeff',
    operation_id: 'opn_1',
    mailbox_id: 'mbx_1',
    draft_id: 'drf_1',
    draft_version: 1,
    envelope: {
      from: headers.from.email,
      to: [...headers.to, ...headers.cc, ...headers.bcc].map(({ email }) => email),
    },
    headers,
    body_sha256: 'a'.repeat(64),
    attachments: [],
    mime_sha256: 'b'.repeat(64),
    mime_size: 2_048,
  };
};
