/** One attempt of one mail: what it says is loaded now, the mail is sent, and the outcome is appended. */
import { decideAndAppend, loadAggregate, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { holdLease } from '../../commands/kernel/hold-lease.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { MailNotSent } from '../../commands/ports/system-mailer.ts';
import {
  type MailFailure,
  noteAttempt,
  skipMail,
  systemMail,
  type SystemMailState,
} from '../../commands/system-mail/system-mail.ts';
import { type Addressed, contentOf, type ContentPorts } from './mail-content.ts';
import { renderMail } from './render-mail.ts';

type SendPorts = ContentPorts & Pick<Ports, 'leases' | 'log' | 'systemMailer'>;

/** `held`: another process tries it, or the read model is behind. Throws `store_unavailable`; the mail is then tried again. */
export async function sendSystemMail(ports: SendPorts, id: string): Promise<'settled' | 'held'> {
  const name = `system-mail-${id}`;
  const lease = await holdLease(ports.leases, name);
  if (lease === null) return 'held';
  try {
    const loaded = await loadAggregate(ports.events, systemMail, id);
    const { request, dueAt, orgId, requestedAt } = loaded.state;
    const now = ports.clock.now();
    if (request === null || requestedAt === null || dueAt === null || Date.parse(dueAt) > now.getTime())
      return 'held';
    // What the request is about was answered before it, so a current directory has it.
    if (!(await ports.directory.untilCurrent())) return 'held';
    const content = await contentOf(ports, { request, orgId, requestedAt });
    const author = systemAuthor(ports, orgId);
    const append = async (decide: (before: SystemMailState, at: Date) => ReturnType<typeof skipMail>) =>
      (await decideAndAppend(ports, author, systemMail, { id, decide })).state;
    if (typeof content === 'string') {
      await forget(ports, id, await append((before) => skipMail(before, content)));
      return 'settled';
    }
    lease.assertHeld();
    const failure = await attempt(ports, { id, kind: request.kind, content });
    const state = await append((before, at) => noteAttempt(before, failure, at));
    if (failure !== null) tell(ports, { id, state, failure });
    await forget(ports, id, state);
    return 'settled';
  } finally {
    await lease.release();
  }
}

/** Null = the mail server took it. */
async function attempt(
  { systemMailer, server }: SendPorts,
  { id, kind, content }: { readonly id: string; readonly kind: string; readonly content: Addressed },
): Promise<MailFailure | null> {
  const { mail, to, recipientId, headers } = content;
  const rendered = renderMail(mail, new URL(server.baseUrl).host);
  const link = mail.action?.href ?? null;
  try {
    await systemMailer.send({ ...rendered, ...{ id, kind, to, recipientId, headers, link } });
    return null;
  } catch (error) {
    if (!(error instanceof MailNotSent)) throw error;
    return { code: error.code, isFinal: error.isFinal };
  }
}

function tell(
  { log }: SendPorts,
  {
    id,
    state,
    failure,
  }: { readonly id: string; readonly state: SystemMailState; readonly failure: MailFailure },
): void {
  const fields = { mail_id: id, kind: state.request?.kind, code: failure.code, attempts: state.attempts };
  if (state.dueAt === null) log.error('system mail: failed', fields);
  else log.warn('system mail: retry scheduled', { ...fields, next_at: state.dueAt });
}

/** Erases the key of an address that only this mail knew, once the mail has ended. */
export async function forgetAddress(ports: Pick<Ports, 'events' | 'personal'>, id: string): Promise<void> {
  const { state } = await loadAggregate(ports.events, systemMail, id);
  await forget(ports, id, state);
}

async function forget(
  { personal }: Pick<Ports, 'personal'>,
  id: string,
  { dueAt, request }: SystemMailState,
): Promise<void> {
  if (dueAt === null && request?.to != null) await personal.erase(id);
}
