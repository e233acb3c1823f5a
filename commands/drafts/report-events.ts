/** What mail servers report of a message after they took it, in the stream of the draft that was sent. */
import { z } from 'zod';
import { REPORT_ACTIONS } from '../mail/reported-recipient.ts';
import { defineEvent } from '../values/event.ts';
import { sealedText } from '../values/event-fields.ts';
import { mailboxOf, TOLD } from '../values/webhook-event.ts';

const Outcome = z.object({
  action: z.enum(REPORT_ACTIONS),
  /** Enhanced status code (RFC 3463). */
  status: z
    .string()
    .regex(/^[245]\.\d{1,3}\.\d{1,3}$/)
    .nullable(),
});

/** What a report says of one recipient; texts are sealed under the mailbox's key. */
export const ReportedOutcome = Outcome.extend({
  address: sealedText,
  diagnostic: sealedText.nullable(),
  remote_mta: sealedText.nullable(),
});
export type ReportedOutcome = z.output<typeof ReportedOutcome>;

export const DeliveryReportReceived = defineEvent({
  type: 'DeliveryReportReceived',
  summary: 'A delivery report about the sent message arrived in the mailbox that sent it.',
  data: z.object({
    operation_id: z.string(),
    /** The `msg_` id of the report, where it was found. */
    report_message_id: z.string(),
    /** The number of its folder. */
    folder: z.int().min(1),
    /** Keyed hash of the report's Message-ID, so that a report that is moved or shown twice counts once. */
    report_key: z.string(),
    recipients: z.array(ReportedOutcome).min(1),
  }),
  webhook: {
    types: {
      'message.bounced': z
        .object({
          mailbox_id: TOLD.mailboxId,
          draft_id: TOLD.draftId,
          message_id: z.string().describe('The delivery report.'),
          recipients: z.array(Outcome).describe('In the order of the report, which names their addresses.'),
          failed: z.int().describe('How many recipients did not get the message.'),
        })
        .describe('A mail server reported that a recipient did not get a sent message.'),
    },
    notify: (event) => {
      const { report_message_id: message_id, folder, recipients } = event.data;
      const failed = recipients.filter(({ action }) => action === 'failed').length;
      // A delay may end well: the draft shows it, and nobody is told.
      if (failed === 0) return [];
      const mailbox_id = mailboxOf(event);
      const outcomes = recipients.map(({ action, status }) => ({ action, status }));
      const data = { mailbox_id, draft_id: event.subject, message_id, recipients: outcomes, failed };
      return [{ type: 'message.bounced', mailboxId: mailbox_id, folders: [folder], data }];
    },
  },
});
