/**
 * The metadata of applications that nobody here registered (RFC 7591 2, client ID metadata documents): what is taken from it
 * is picked, so that no other field reaches the library.
 */
import { whyNotRedirect } from '../../commands/oauth/redirect-uri.ts';
import { oneLine } from './authorization-requests.ts';

type Given = Readonly<Record<string, unknown>>;

/** Of the fields that clients register. */
export interface PickedMetadata {
  readonly redirect_uris: readonly string[];
  readonly client_name?: string;
  readonly client_uri?: string;
  readonly application_type: 'native';
  readonly token_endpoint_auth_method: 'none';
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
}

const MOST_REDIRECTS = 10;
const MOST_ADDRESS_CHARS = 2_000;

/** Of every client that is no secret keeper, whatever it says of itself. */
const FORCED = {
  // Its redirects to this machine may have any port (RFC 8252 7.3); others are compared exactly.
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
} as const;

/** What is taken of the metadata that a client registers. */
export function pickMetadata(given: Given): PickedMetadata {
  const { redirect_uris: redirects, client_name: name, client_uri: page } = given;
  const client_name = oneLine(name);
  return {
    redirect_uris: Array.isArray(redirects) ? redirects.filter(isRedirect).slice(0, MOST_REDIRECTS) : [],
    ...(client_name !== null && { client_name }),
    ...(isHttps(page) && { client_uri: page }),
    ...FORCED,
  };
}

/**
 * What is taken of a metadata document. Null for a client with a secret or a key: it wants to be recognised by more than its
 * redirects, which the gateway does not offer.
 */
export function pickDocument(
  clientId: string,
  given: Given,
): (PickedMetadata & { readonly client_id: string }) | null {
  const { client_id, token_endpoint_auth_method: method = 'none' } = given;
  if (client_id !== clientId || method !== 'none' || 'client_secret' in given) return null;
  return { ...pickMetadata(given), client_id };
}

/**
 * True for an address that may name a client: exactly as a browser would write it, with a name of a host and a path. Whether
 * its host may be asked is left to the egress guard.
 */
export function isDocumentAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !isHttps(text) || url.href !== text || hasMore(url)) return false;
  return url.pathname !== '/' && !/^\[|^[\d.]+$/.test(url.hostname);
}

/** As for a registered application, but no private scheme: anybody could claim that of another application. */
const isRedirect = (text: unknown): text is string =>
  /^https?:$/.test(addressIn(text)?.protocol ?? '') && whyNotRedirect(text as string) === null;

/** A fragment, or a name and password. */
const hasMore = ({ hash, username, password }: URL): boolean => `${hash}${username}${password}` !== '';

const isHttps = (text: unknown): text is string => addressIn(text)?.protocol === 'https:';

const addressIn = (text: unknown): URL | null =>
  typeof text === 'string' && text.length <= MOST_ADDRESS_CHARS ? URL.parse(text) : null;
