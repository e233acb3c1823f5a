/** Delivery reports in the forms of common mail servers, about the message with this Message-ID that was sent to Bob. */
import { DAEMON, lines, ORIGINAL, report } from './report-forms.ts';

export const DELIVERY_REPORTS = {
  postfix: (id: string) =>
    report([...DAEMON, 'Subject: Undelivered Mail Returned to Sender'], 'delivery-status', [
      {
        type: 'text/plain; charset=us-ascii',
        lines: [
          'This is the mail system at host mx.example.com.',
          '',
          "I'm sorry to have to inform you that your message could not",
          'be delivered to one or more recipients.',
          '',
          '<bob@example.net>: host mail.example.net[192.0.2.7] said: 550 5.1.1 No such user',
        ],
      },
      {
        type: 'message/delivery-status',
        lines: [
          'Reporting-MTA: dns; mx.example.com',
          'X-Postfix-Queue-ID: AB12',
          'Arrival-Date: Mon,  2 Mar 2026 10:00:00 +0000 (UTC)',
          '',
          'Final-Recipient: rfc822; robert@example.net',
          'Original-Recipient: rfc822;bob@example.net',
          'Action: failed',
          'Status: 5.1.1',
          'Remote-MTA: dns; mail.example.net',
          'Diagnostic-Code: smtp; 550 5.1.1 <robert@example.net>:',
          '    No such user',
        ],
      },
      { type: 'text/rfc822-headers', lines: ORIGINAL(id) },
    ]),

  postfixDelayed: (id: string) =>
    report([...DAEMON, 'Subject: Delayed Mail (still being retried)'], 'delivery-status', [
      { type: 'text/plain', lines: ['THIS IS A WARNING ONLY.  YOU DO NOT NEED TO RESEND YOUR MESSAGE.'] },
      {
        type: 'message/delivery-status',
        lines: [
          'Reporting-MTA: dns; mx.example.com',
          '',
          'Final-Recipient: rfc822; bob@example.net',
          'Action: delayed',
          'Status: 4.4.1',
          'Diagnostic-Code: X-Postfix; connect to mail.example.net[192.0.2.7]:25: timed out',
          'Will-Retry-Until: Sat,  7 Mar 2026 10:00:00 +0000 (UTC)',
        ],
      },
      { type: 'message/rfc822', lines: [...ORIGINAL(id), '', 'Hello.'] },
    ]),

  postfixOld: (id: string) =>
    lines(
      'Return-Path: <>',
      'From: MAILER-DAEMON@mx.example.com',
      'To: anna@example.com',
      'Subject: Undelivered Mail Returned to Sender',
      '',
      'This is the Postfix program at host mx.example.com.',
      '',
      "I'm sorry to have to inform you that the message returned",
      'below could not be delivered to one or more destinations.',
      '',
      'For further assistance, please send mail to <postmaster>',
      '',
      '<bob@example.net>: host mail.example.net[192.0.2.7] said: 554 Relay access denied',
      '    (in reply to RCPT TO command)',
      '',
      '----- Message header follows -----',
      ...ORIGINAL(id),
    ),

  exim: (id: string) =>
    lines(
      'Return-path: <>',
      'X-Failed-Recipients: bob@example.net, carol@example.net',
      'Auto-Submitted: auto-replied',
      'From: Mail Delivery System <Mailer-Daemon@mx.example.com>',
      'To: anna@example.com',
      'Subject: Mail delivery failed: returning message to sender',
      '',
      'This message was created automatically by mail delivery software.',
      '',
      'A message that you sent could not be delivered to one or more of its',
      'recipients. This is a permanent error. The following address(es) failed:',
      '',
      '  bob@example.net',
      '    host mail.example.net [192.0.2.7]',
      '    SMTP error from remote mail server after RCPT TO:<bob@example.net>:',
      '    550 5.7.1 Refused by policy',
      '  carol@example.net',
      '    Unrouteable address',
      '',
      '------ This is a copy of the message, including all the headers. ------',
      '',
      'Return-path: <anna@example.com>',
      ...ORIGINAL(id),
      '',
      'Hello.',
    ),

  eximDelayed: (id: string) =>
    lines(
      'From: Mail Delivery System <Mailer-Daemon@mx.example.com>',
      'To: anna@example.com',
      'Subject: Warning: message 1abCde-0001 delayed 24 hours',
      `References: <earlier@example.com> <${id}>`,
      '',
      'A message that you sent has not yet been delivered to one or more of its',
      'recipients after more than 24 hours on the queue on mx.example.com.',
      '',
      'The address to which the message has not yet been delivered is:',
      '',
      '  bob@example.net',
      '    Delay reason: 421 Try later',
      '',
      'No action is required on your part. Delivery attempts will continue for',
      'some time.',
    ),

  qmail: (id: string) =>
    lines(
      'Return-Path: <>',
      'From: MAILER-DAEMON@mx.example.com',
      'To: anna@example.com',
      'Subject: failure notice',
      '',
      'Hi. This is the qmail-send program at mx.example.com.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      '<bob@example.net>:',
      'Sorry, no mailbox here by that name. (#5.1.1)',
      '',
      '--- Below this line is a copy of the message.',
      '',
      'Return-Path: <anna@example.com>',
      ...ORIGINAL(id),
      '',
      'Hello.',
      '<mallory@example.net>:',
      'Sorry. (#5.9.9)',
    ),

  m365: (id: string) =>
    report(
      [
        'From: Microsoft Outlook',
        ' <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@example.com>',
        'To: anna@example.com',
        'Subject: Undeliverable: Plans',
        'Auto-Submitted: auto-replied',
        `In-Reply-To: <${id}>`,
        'Message-ID: <m365@example.com>',
      ],
      'delivery-status',
      [
        {
          type: 'text/html; charset="utf-8"',
          encoding: 'base64',
          lines: [Buffer.from("<p>Your message to bob couldn't be delivered.</p>").toString('base64')],
        },
        {
          type: 'message/delivery-status',
          lines: [
            'Reporting-MTA: dns;AM0PR01.example.com',
            'Received-From-MTA: dns;AM0PR02.example.com',
            'Arrival-Date: Mon, 2 Mar 2026 10:00:00 +0000',
            '',
            'Final-Recipient: rfc822;bob@example.net',
            'Action: failed',
            'Status: 5.4.310',
            'Diagnostic-Code: smtp;550 5.4.310 DNS domain does not exist',
            'X-Display-Name: bob@example.net',
          ],
        },
        { type: 'message/rfc822', lines: [...ORIGINAL(id), '', 'Hello.'] },
      ],
    ),

  exchangeOld: (id: string) =>
    lines(
      'From: System Administrator <postmaster@example.com>',
      'To: anna@example.com',
      'Subject: Undeliverable: Plans',
      `In-Reply-To: <${id}>`,
      '',
      'Your message did not reach some or all of the intended recipients.',
      '',
      '      Subject:\tPlans',
      '      Sent:\t3/2/2026 10:00 AM',
      '',
      'The following recipient(s) could not be reached:',
      '',
      '      bob@example.net on 3/2/2026 10:01 AM',
      '            The e-mail account does not exist at the organization this message was sent to.',
      '            <mx.example.com #5.1.1 SMTP; 550 unknown>',
    ),

  gmail: (id: string) =>
    report(
      [
        'From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
        'To: anna@example.com',
        'Auto-Submitted: auto-replied',
        'Subject: Delivery Status Notification (Failure)',
        'Message-ID: <gmail@mx.google.com>',
      ],
      'delivery-status',
      [
        { type: 'text/plain; charset="UTF-8"', lines: ['** Address not found **'] },
        {
          type: 'message/delivery-status',
          lines: [
            'Reporting-MTA: dns; googlemail.com',
            'Arrival-Date: Mon, 02 Mar 2026 02:00:00 -0800 (PST)',
            `X-Original-Message-ID: <${id}>`,
            '',
            'Final-Recipient: rfc822; bob@example.net',
            'Action: failed',
            'Status: 5.1.1',
            'Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist.',
          ],
        },
      ],
    ),

  gmailOld: (id: string) =>
    lines(
      'From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
      'To: anna@example.com',
      'Subject: Delivery Status Notification (Failure)',
      'Content-Type: text/plain; charset=ISO-8859-1',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'Delivery to the following recipient failed permanently:',
      '',
      '     bob@example.net',
      '',
      'Technical details of permanent failure:=20',
      'Google tried to deliver your message, but it was rejected by the server f=',
      'or the recipient domain example.net by mail.example.net. [192.0.2.7].',
      '',
      'The error that the other server returned was:',
      '552 5.2.2 The mailbox is full',
      '',
      '----- Original message -----',
      '',
      'Received: by 192.0.2.9 with SMTP id x',
      ...ORIGINAL(id),
    ),

  sendmail: (id: string) =>
    lines(
      'From: Mail Delivery Subsystem <MAILER-DAEMON@mx.example.com>',
      'To: anna@example.com',
      'Subject: Returned mail: see transcript for details',
      `In-Reply-To: <${id}>`,
      '',
      'The original message was received at Mon, 2 Mar 2026 10:00:00 GMT',
      '',
      '   ----- The following addresses had permanent fatal errors -----',
      '<bob@example.net>',
      '    (reason: 550 5.1.1 User unknown)',
      '',
      '   ----- Transcript of session follows -----',
      '... while talking to mail.example.net.:',
      '>>> DATA',
      '<<< 550 5.1.1 User unknown',
    ),

  pigeonholeReject: (id: string) =>
    report(
      [
        'Return-Path: <>',
        'From: Mail Delivery Subsystem <postmaster@example.net>',
        'To: <anna@example.com>',
        'Auto-Submitted: auto-replied (rejected)',
        'Subject: Automatically rejected mail',
        'Message-ID: <dovecot-sieve-1@example.net>',
      ],
      'disposition-notification',
      [
        {
          type: 'text/plain; charset=utf-8',
          lines: ['Your message to <bob@example.net> was automatically rejected:', 'No more mail, please.'],
        },
        {
          type: 'message/disposition-notification',
          lines: [
            'Reporting-UA: mx.example.net; Dovecot Mail Delivery Agent',
            'Original-Recipient: rfc822; bob@example.net',
            'Final-Recipient: rfc822; bob@example.net',
            `Original-Message-ID: <${id}>`,
            'Disposition: automatic-action/MDN-sent-automatically; deleted',
          ],
        },
        { type: 'message/rfc822', lines: ORIGINAL(id) },
      ],
    ),

  delivered: (id: string) =>
    report([...DAEMON, 'Subject: Successful Mail Delivery Report'], 'delivery-status', [
      {
        type: 'message/delivery-status',
        lines: [
          'Reporting-MTA: dns; mx.example.com',
          '',
          'Final-Recipient: rfc822; bob@example.net',
          'Action: delivered (to mailbox)',
          'Status: 2.1.5',
        ],
      },
      { type: 'text/rfc822-headers', lines: ORIGINAL(id) },
    ]),
} as const satisfies Readonly<Record<string, (id: string) => string>>;
