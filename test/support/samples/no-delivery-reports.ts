/** Messages that are no delivery reports, though they come by themselves or look like one. */
import { DAEMON, lines, ORIGINAL, report } from './report-forms.ts';

export const NO_REPORTS = {
  vacation: (id: string) =>
    lines(
      'Return-Path: <>',
      'From: Bob <bob@example.net>',
      'To: anna@example.com',
      'Auto-Submitted: auto-replied (vacation)',
      'Subject: Out of office: Plans',
      `In-Reply-To: <${id}>`,
      `References: <${id}>`,
      '',
      'I am away, and your message could not be delivered to my brain.',
      'carol@example.net: 550 5.1.1 is my deputy',
    ),

  readReceipt: (id: string) =>
    report(
      ['From: Bob <bob@example.net>', 'To: anna@example.com', 'Subject: Read: Plans'],
      'disposition-notification',
      [
        { type: 'text/plain', lines: ['Your message was read.'] },
        {
          type: 'message/disposition-notification',
          lines: [
            'Final-Recipient: rfc822; bob@example.net',
            `Original-Message-ID: <${id}>`,
            'Disposition: manual-action/MDN-sent-manually; displayed',
          ],
        },
      ],
    ),

  complaint: (id: string) =>
    report([...DAEMON, 'Subject: Abuse report'], 'feedback-report', [
      { type: 'text/plain', lines: ['This is an abuse report. bob@example.net: 550 rejected'] },
      { type: 'message/feedback-report', lines: ['Feedback-Type: abuse', 'Version: 1'] },
      { type: 'text/rfc822-headers', lines: ORIGINAL(id) },
    ]),

  answer: (id: string) =>
    lines(
      'From: Bob <bob@example.net>',
      'To: anna@example.com',
      'Subject: Undeliverable: how do you read this?',
      `In-Reply-To: <${id}>`,
      '',
      'bob@example.net: 550 5.1.1 could not be delivered',
    ),

  forwardedReport: (id: string) =>
    lines(
      'From: Bob <bob@example.net>',
      'To: anna@example.com',
      'Subject: Fwd: Undeliverable',
      'Content-Type: multipart/mixed; boundary=out',
      '',
      '--out',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example.com',
      '',
      'Final-Recipient: rfc822; bob@example.net',
      'Action: failed',
      'Status: 5.1.1',
      '',
      '--out',
      'Content-Type: text/rfc822-headers',
      '',
      ...ORIGINAL(id),
      '--out--',
    ),

  withoutMessage: () =>
    report([...DAEMON.slice(0, 4), 'Subject: Undeliverable'], 'delivery-status', [
      {
        type: 'message/delivery-status',
        lines: ['Final-Recipient: rfc822; bob@example.net', 'Action: failed', 'Status: 5.1.1'],
      },
    ]),
} as const satisfies Readonly<Record<string, (id: string) => string>>;
