/** The `AuthorizationRequests` port: the library's interactions, as the gateway shows and decides them. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type {
  AskingClient,
  AuthorizationDecision,
  AuthorizationRequest,
  AuthorizationRequests,
} from '../../commands/ports/authorization-server.ts';
import type { DirectoryState, OAuthClientEntry, OAuthClientKind } from '../../commands/ports/directory.ts';
import type { Ids } from '../../commands/ports/ports.ts';
import { withoutInvisible } from '../../commands/html/visible-text.ts';
import { GRANTABLE_SCOPES } from '../../commands/oauth/oauth-grant.ts';
import type { Scope } from '../../commands/values/scopes.ts';
import { sha256, type StatePayload, type StateRows } from './state-rows.ts';

export interface AuthorizationRequestsOptions {
  readonly rows: StateRows;
  readonly ids: Pick<Ids, 'reservationName'>;
  readonly directory: { readonly state: DirectoryState };
}

/** What the library stores of a request that waits for a person. */
interface Interaction extends StatePayload {
  readonly returnTo: string;
  readonly params: Readonly<Record<string, string>>;
  /** Absent until it is decided. */
  readonly result?: StatePayload;
}

const FORM = /^([\w-]{16,64})\.([0-9a-f]{64})$/;

const proofOf = (ids: Pick<Ids, 'reservationName'>, requestId: string): string =>
  ids.reservationName(`oauth consent ${requestId}`);

/** The token that shows the consent page in the browser in which the request arrived. */
export const consentToken = (ids: Pick<Ids, 'reservationName'>, requestId: string): string =>
  `${requestId}.${proofOf(ids, requestId)}`;

/** Null when it is not one of ours. */
function requestOfToken(ids: Pick<Ids, 'reservationName'>, token: string): string | null {
  const [, requestId, proof] = FORM.exec(token) ?? [];
  if (requestId === undefined || proof === undefined) return null;
  const isOurs = timingSafeEqual(Buffer.from(proof, 'hex'), Buffer.from(proofOf(ids, requestId), 'hex'));
  return isOurs ? requestId : null;
}

/** What the browser must bring back from the decision: nobody else can continue the request. Equal for a repeat of it. */
const decidedProof = (ids: Pick<Ids, 'reservationName'>, requestId: string): string =>
  createHmac('sha256', proofOf(ids, requestId)).update('decided').digest('hex');

/** True when the browser that returns was given the decision. */
export async function wasDecidedHere(rows: StateRows, requestId: string, proof: string): Promise<boolean> {
  const row = await rows.find('Interaction', requestId);
  return row?.decidedHash?.equals(sha256(proof)) === true;
}

/** Nothing counts of what a deleted organisation says of applications. */
export const isOfLiveOrg = ({ organisations }: DirectoryState, { orgId }: OAuthClientEntry): boolean => {
  const org = organisations.get(orgId);
  return org?.eraseAt === null && !org.isErased;
};

/** Null for one that no organisation registered. */
export function registeredClient(state: DirectoryState, clientId: string): OAuthClientEntry | null {
  const entry = state.oauthClients.get(clientId);
  return entry?.isRegistered === true && isOfLiveOrg(state, entry) ? entry : null;
}

export function kindOf(state: DirectoryState, clientId: string): OAuthClientKind {
  if (clientId.startsWith('https://')) return 'document';
  return registeredClient(state, clientId) === null ? 'dynamic' : 'registered';
}

/** What an application asks for, of what it may hold: everything only when it names nothing at all. */
export function askedScopes(scope = ''): readonly Scope[] {
  const named = scope.split(' ').filter((each) => each !== '');
  return named.length === 0 ? GRANTABLE_SCOPES : GRANTABLE_SCOPES.filter((each) => named.includes(each));
}

export function createAuthorizationRequests(options: AuthorizationRequestsOptions): AuthorizationRequests {
  const { rows, ids, directory } = options;
  const describe = async (id: string, asked: Interaction): Promise<AuthorizationRequest | null> => {
    const { client_id = '', redirect_uri = '', scope } = asked.params;
    if (await isGone(options, { clientId: client_id, redirectUri: redirect_uri })) return null;
    const client: AskingClient = {
      id: client_id,
      kind: kindOf(directory.state, client_id),
      name: await nameOf(options, client_id),
      redirectUri: redirect_uri,
    };
    return { id, client, scopes: askedScopes(scope), decision: decisionOf(asked) };
  };
  return {
    find: async (token) => {
      const id = requestOfToken(ids, token);
      const row = id === null ? null : await rows.find('Interaction', id);
      return id === null || row === null ? null : await describe(id, row.payload as Interaction);
    },
    decide: async (id, decision) => {
      const row = await rows.find('Interaction', id);
      if (row === null) return null;
      const before = row.payload as Interaction;
      const proof = decidedProof(ids, id);
      const address = `${before.returnTo}?decided=${proof}`;
      const payload = { ...before, ...resultOf(before, decision) };
      if (await rows.decide(id, payload, sha256(proof))) return address;
      const stored = await rows.find('Interaction', id);
      return stored !== null && isSame(stored.payload, payload) ? address : null;
    },
    forgetGrants: (grantIds) => rows.forgetGrants(grantIds),
  };
}

const decisionOf = ({ result }: Interaction): AuthorizationRequest['decision'] => {
  if (result === undefined) return 'none';
  return 'error' in result ? 'denied' : 'allowed';
};

const isSame = (a: StatePayload, b: StatePayload): boolean =>
  JSON.stringify(a['result']) === JSON.stringify(b['result']);

/** What the library reads when the browser returns. */
function resultOf({ params }: Interaction, decision: AuthorizationDecision): StatePayload {
  if (!decision.allowed)
    return { result: { error: 'access_denied', error_description: 'The person did not allow it.' } };
  const { userId, grantId, scopes } = decision;
  const login = { accountId: userId, remember: false };
  return {
    params: { ...params, scope: scopes.join(' ') },
    result: { login, select_account: {}, consent: { grantId } },
  };
}

/** True for an application that was deleted after it had asked, and for a redirect that its organisation removed. */
async function isGone(
  { rows, directory }: AuthorizationRequestsOptions,
  { clientId, redirectUri }: { readonly clientId: string; readonly redirectUri: string },
): Promise<boolean> {
  const registered = registeredClient(directory.state, clientId);
  if (registered !== null) {
    const asked = withoutLoopbackPort(redirectUri);
    return !registered.redirectUris.some((each) => withoutLoopbackPort(each) === asked);
  }
  return kindOf(directory.state, clientId) === 'dynamic' && (await rows.find('Client', clientId)) === null;
}

/** Redirects to the person's own machine may have any port (RFC 8252 7.3); no other has plain HTTP. */
function withoutLoopbackPort(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (url?.protocol !== 'http:') return redirectUri;
  url.port = '';
  return url.href;
}

const MOST_NAME_CHARS = 100;

/** The name that an application gives itself, or that its organisation gave it. */
async function nameOf(
  { rows, directory }: AuthorizationRequestsOptions,
  clientId: string,
): Promise<string | null> {
  const registered = directory.state.oauthClients.get(clientId);
  if (registered) return registered.name;
  const model = clientId.startsWith('https://') ? 'ClientDocument' : 'Client';
  return oneLine((await rows.find(model, clientId))?.payload['client_name']);
}

/** Without what cannot be seen, so that it cannot pretend to be something else on the page. */
export function oneLine(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  const plain = withoutInvisible(text).replace(/\s+/gu, ' ').trim();
  return plain === '' ? null : Array.from(plain).slice(0, MOST_NAME_CHARS).join('');
}
