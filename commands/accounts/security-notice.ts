/** Mails that tell a person what was done with the account. An address that is not verified may be another person's: it gets none. */
import type { Author } from '../kernel/decide-and-append.ts';
import { isVerified } from '../kernel/membership.ts';
import type { Ports } from '../ports/ports.ts';
import { requestMail, type SystemMailRequest } from '../system-mail/system-mail.ts';

export async function requestNotice(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>,
  author: Author,
  userId: string,
  notice: Pick<SystemMailRequest, 'kind' | 'subject_session_id'>,
): Promise<void> {
  if (!isVerified(ports.directory.state, userId)) return;
  await requestMail(ports, author, ports.ids.newUuid(), { ...notice, user_id: userId, to: null });
}
