/** What a warning of an approval is about. The codes are clear in events; the texts, which may quote a mail, are sealed. */

/** In the order in which warnings of equal severity are listed. */
export const WARNING_CODES = [
  'content_altered',
  'content_unreadable',
  'look_alike',
  'spoofed_name',
  'invisible_characters',
  'hidden_text',
  'misleading_link',
  'attachment_type',
  'attachment_danger',
  'envelope_only',
  'permanent_deletion',
  'message_replaced',
  'hidden_recipients',
  'external_recipients',
  'reply_to_differs',
  'sender_differs',
  'moved_text',
  'remote_content',
  'content_cut',
  'skipped_recipients',
  'message_gone',
  'messages_unknown',
  'own_request',
  'first_contact',
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

/** As many as a notice to an approver names. */
export const MOST_TOLD = 3;
