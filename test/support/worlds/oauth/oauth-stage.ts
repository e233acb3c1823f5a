/** A gateway whose owner is signed in and has a mailbox, for connections of applications. */
import { type GatewayOptions, startTestGateway, type TestGateway } from '../gateway.ts';
import { signInOwner } from '../sign-in.ts';
import { OAuthClient } from './oauth-client.ts';
import type { Deciding } from './person-deciding.ts';

/** Where no mail server answers: rights are what counts. */
const NOWHERE = { host: '127.0.0.1', port: 1, security: 'none' };

export interface OAuthStage {
  readonly gateway: TestGateway;
  readonly owner: Deciding;
}

export async function openOAuthStage(options: GatewayOptions = {}): Promise<OAuthStage> {
  const gateway = await startTestGateway({ ...options, env: { OAUTH_DCR: 'on', ...options.env } });
  const owner = { ...(await signInOwner(gateway)), orgId: gateway.tokens.orgId };
  const auth = { type: 'password', username: 'nobody', password: 'nothing' };
  const mailbox = { email: 'box@example.com', imap: NOWHERE, smtp: NOWHERE, auth };
  const added = await gateway.rest('POST', '/mailboxes', mailbox);
  if (added.status !== 201) throw new Error(`no mailbox: ${JSON.stringify(added.body)}`);
  return { gateway, owner };
}

/** An application that registered itself. */
export async function dynamicClient({ gateway }: Pick<OAuthStage, 'gateway'>): Promise<OAuthClient> {
  const client = new OAuthClient(gateway.baseUrl);
  await client.becomeDynamic();
  return client;
}

/** An application that the organisation registered, and its secret when it has one. */
export async function registeredClient(
  { gateway, owner }: OAuthStage,
  sent: object,
): Promise<{ readonly client: OAuthClient; readonly id: string; readonly secret: string }> {
  const registration = { name: 'Own', ...sent };
  const answer = await gateway.rest('POST', '/org/oauth-clients', registration, { token: owner.bearer });
  if (answer.status !== 201) throw new Error(`not registered: ${JSON.stringify(answer.body)}`);
  const { id, client_id: clientId, client_secret: secret = '' } = answer.body as Record<string, string>;
  return { client: new OAuthClient(gateway.baseUrl, { clientId: clientId ?? '' }), id: id ?? '', secret };
}
