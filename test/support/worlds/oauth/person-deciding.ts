/** A person at a browser who decides by REST in their session, as the console does, one step at a time. */
import { type Answer, callRest } from '../gateway.ts';
import type { Begun, OAuthClient, OAuthJson } from './oauth-client.ts';
import { REDIRECT } from './oauth-client.ts';

/** Who decides; the session is stepped up. */
export interface Deciding {
  /** A session token. */
  readonly bearer: string;
  readonly orgId: string;
}

/** Fields of the decision that are sent besides, or otherwise. */
export type DecisionChange = Readonly<Record<string, unknown>>;

export interface ByRest {
  readonly code: string;
  readonly grantId: string;
  /** Where the browser was sent. */
  readonly answer: URL;
}

export interface Connected extends ByRest {
  readonly tokens: OAuthJson;
}

/** The decision of the person about the request with this consent token. */
export const decide = (
  { bearer, orgId }: Deciding,
  address: string,
  consentToken: string,
  change: DecisionChange = {},
): Promise<Answer> => {
  const allowed = { decision: 'allow', scopes: ['messages:read', 'mailboxes:read'], mailbox_ids: null };
  const body = { consent_token: consentToken, org_id: orgId, ...allowed, ...change };
  return callRest(address, ['POST', '/auth/authorization-requests', body], { token: bearer });
};

/** What the console needs besides the decision to refuse. */
export const deny = (person: Deciding, address: string, consentToken: string): Promise<Answer> =>
  callRest(
    address,
    [
      'POST',
      '/auth/authorization-requests',
      { consent_token: consentToken, org_id: person.orgId, decision: 'deny' },
    ],
    { token: person.bearer },
  );

/** From the browser that has begun to the code. */
export async function codeOf(
  client: OAuthClient,
  person: Deciding,
  begun: Begun,
  change: DecisionChange = {},
): Promise<ByRest> {
  const decided = await decide(person, client.address, await client.consentToken(begun), change);
  if (decided.status !== 200) throw new Error(`not decided: ${JSON.stringify(decided.body)}`);
  const { redirect_to: redirectTo, connected_application_id: grantId } = decided.body as Record<
    string,
    string
  >;
  const { location, text, status } = await client.resume(redirectTo ?? '', begun);
  if (location === null) throw new Error(`no answer for the application: ${String(status)} ${text}`);
  const answer = new URL(location);
  return { code: answer.searchParams.get('code') ?? '', grantId: grantId ?? '', answer };
}

/** From the request to tokens. */
export async function connect(
  client: OAuthClient,
  person: Deciding,
  change: DecisionChange = {},
): Promise<Connected> {
  const allowed = await codeOf(client, person, await client.begin(), change);
  const tokens = await client.exchange(allowed.code, { redirect_uri: REDIRECT });
  if (tokens.status !== 200) throw new Error(`no tokens: ${tokens.text}`);
  return { ...allowed, tokens: tokens.json };
}
