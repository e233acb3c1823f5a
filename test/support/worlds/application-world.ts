/** Applications that ask people for access, in a gateway in memory. */
import { createMailbox } from '../../../commands/mailboxes/manage-mailboxes.ts';
import { decideAuthorizationRequest } from '../../../commands/oauth/decide-authorization-request.ts';
import type { AuthorizationRequest } from '../../../commands/ports/authorization-server.ts';
import type { OAuthGrantEntry } from '../../../commands/ports/directory.ts';
import type { MemoryAuthorizationRequests } from '../fakes/memory-authorization-requests.ts';
import { IMAP, SMTP } from '../samples/mailbox-facts.ts';
import { InviteWorld } from './invite-world.ts';

export const DOCUMENT = {
  id: 'https://app.example.com/client.json',
  kind: 'document',
  name: 'Mail helper',
  redirectUri: 'https://app.example.com/callback',
} as const;

export interface Decided {
  readonly redirect_to: string;
  readonly connected_application_id: string | null;
}

export class ApplicationWorld {
  readonly people: InviteWorld;
  /** A session of the owner. */
  readonly owner: string;
  readonly mailboxId: string;
  #count = 0;

  private constructor(people: InviteWorld, owner: string, mailboxId: string) {
    this.people = people;
    this.owner = owner;
    this.mailboxId = mailboxId;
  }

  static async open(): Promise<ApplicationWorld> {
    const people = await InviteWorld.open();
    const owner = await people.gateway.signIn();
    const input = {
      email: 'box@example.com',
      imap: IMAP,
      smtp: SMTP,
      auth: { type: 'password', username: 'box', password: 'secret' },
    };
    const { id } = await people.gateway.call<{ id: string }>(createMailbox, input, { token: owner });
    return new ApplicationWorld(people, owner, id);
  }

  get requests(): MemoryAuthorizationRequests {
    return this.people.gateway.authorizationRequests;
  }

  /** The consent token of a new request. */
  ask(traits: Partial<AuthorizationRequest> = {}): string {
    this.#count += 1;
    const token = `consent-${String(this.#count)}`;
    const scopes = ['messages:read', 'messages:archive', 'mailboxes:read'] as const;
    this.requests.waiting.set(token, { id: `request-${token}`, client: DOCUMENT, scopes, ...traits });
    return token;
  }

  /** Allows it in a session. */
  allow(consent_token: string, change: object = {}, session = this.owner): Promise<Decided> {
    const input = {
      consent_token,
      org_id: this.people.orgId,
      decision: 'allow',
      scopes: ['messages:read', 'mailboxes:read'],
      mailbox_ids: [this.mailboxId],
      ...change,
    };
    return this.people.gateway.call<Decided>(decideAuthorizationRequest, input, { token: session });
  }

  /** A connection that a person allowed. */
  async connect(session = this.owner, traits: Partial<AuthorizationRequest> = {}): Promise<OAuthGrantEntry> {
    const { connected_application_id: id } = await this.allow(
      this.ask(traits),
      { mailbox_ids: null },
      session,
    );
    const entry = this.grant(id ?? '');
    if (!entry) throw new Error('nothing was connected');
    return entry;
  }

  grant(id: string): OAuthGrantEntry | undefined {
    return this.people.state.oauthGrants.get(id);
  }
}
