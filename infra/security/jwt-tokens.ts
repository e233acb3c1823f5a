/** The `Tokens` port: REST tokens, and ES256 access tokens (JWT, RFC 9068) under the vault's signing keys. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import { GatewayError } from '../../commands/values/errors.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import type { Clock } from '../../commands/ports/ports.ts';
import type { AccessTokenClaims, Tokens } from '../../commands/ports/sign-in-port.ts';
import type { SigningKey } from './vault.ts';
import { crc32 } from 'node:zlib';
import { routeKey } from '../../commands/values/ids.ts';

const TYPE = 'at+jwt';
const VERIFIED_TOKENS = 10_000;

export interface TokensOptions {
  /** Issuer; `{baseUrl}/mcp` and `{baseUrl}/api/v1` are the audiences. Without a trailing slash. */
  readonly baseUrl: string;
  readonly signingKeys: readonly [SigningKey, ...SigningKey[]];
  readonly clock: Clock;
}

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);
const fromSeconds = (value: number): Date => new Date(value * 1000);

const Payload = z
  .object({
    sub: z.string(),
    org: z.string(),
    tid: z.string(),
    jti: z.string(),
    scope: z.string(),
    aud: z.union([z.string(), z.array(z.string())]),
    iat: z.int(),
    exp: z.int(),
  })
  .transform((payload): AccessTokenClaims => ({
    tokenId: payload.tid,
    subject: payload.sub,
    orgId: payload.org,
    scopes: payload.scope === '' ? [] : payload.scope.split(' '),
    audience: typeof payload.aud === 'string' ? [payload.aud] : payload.aud,
    issuedAt: fromSeconds(payload.iat),
    expiresAt: fromSeconds(payload.exp),
  }));

/** Signs with the first key and verifies with all. Each adapter decides which audience it accepts. */
export function createTokens({ baseUrl, signingKeys, clock }: TokensOptions): Tokens {
  const mcpAudience = `${baseUrl}/mcp`;
  const audiences: [string, string] = [mcpAudience, `${baseUrl}/api/v1`];
  const publicKeys = new Map(signingKeys.map(({ kid, publicKey }) => [kid, publicKey]));
  // Verifying costs about 100 µs of CPU; a valid token stays cached until it expires, revocation is checked separately.
  const verified = new BoundedMap<string, AccessTokenClaims>(VERIFIED_TOKENS);

  const verify = (token: string): AccessTokenClaims => {
    try {
      const header = jwt.decode(token, { complete: true })?.header;
      const key = header?.typ === TYPE && header.kid !== undefined ? publicKeys.get(header.kid) : undefined;
      if (key === undefined) throw new jwt.JsonWebTokenError('not an access token of ours');
      const payload = jwt.verify(token, key, {
        algorithms: ['ES256'],
        issuer: baseUrl,
        audience: audiences,
        clockTimestamp: seconds(clock.now()),
      });
      return Payload.parse(payload);
    } catch (error) {
      throw error instanceof jwt.TokenExpiredError ? expired() : unauthenticated(error);
    }
  };

  const claimsOf = (token: string): AccessTokenClaims => {
    const key = hash('sha256', token, 'base64');
    const known = verified.get(key);
    if (known === undefined) {
      const claims = verify(token);
      verified.set(key, claims);
      return claims;
    }
    if (known.expiresAt <= clock.now()) throw expired();
    return known;
  };

  const sign = (claims: Omit<AccessTokenClaims, 'audience'>, audience = mcpAudience): string => {
    const [{ kid, privateKey }] = signingKeys;
    const payload = {
      iss: baseUrl,
      aud: audience,
      sub: claims.subject,
      org: claims.orgId,
      tid: claims.tokenId,
      jti: randomUUID(),
      scope: claims.scopes.join(' '),
      iat: seconds(claims.issuedAt),
      exp: seconds(claims.expiresAt),
    };
    return jwt.sign(payload, privateKey, { algorithm: 'ES256', header: { alg: 'ES256', typ: TYPE, kid } });
  };

  return {
    newRestToken: (orgId) => newBearer('mgw_', orgId),
    hashRestToken: (token) => hashBearer('mgw_', token),
    newSessionToken: (orgId) => newBearer('mgs_', orgId),
    hashSessionToken: (token) => hashBearer('mgs_', token),
    newClientSecret: (orgId) => newBearer('mgc_', orgId),
    hashClientSecret: (secret) => hashBearer('mgc_', secret),
    signAccessToken: (claims, audience) => promised(() => sign(claims, audience)),
    verifyAccessToken: (token) => promised(() => claimsOf(token)),
  };
}

/** A synchronous result as a promise; a throw becomes its rejection. */
const promised = <T>(work: () => T): Promise<T> =>
  new Promise((resolve) => {
    resolve(work());
  });

const unauthenticated = (cause?: unknown): GatewayError =>
  new GatewayError('unauthenticated', 'The bearer token is not a valid access token of this gateway.', {
    cause,
  });

const expired = (): GatewayError =>
  new GatewayError('token_expired', 'The access token has expired; ask for a new one.');

/**
 * Opaque bearers, `mgw_` for tokens, `mgs_` for sessions and `mgc_` for clients: the prefix, the route key of the organisation, 43 base62
 * characters of 256 random bits, 6 of a CRC-32 that detects typing errors.
 */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
/** Bearers without a route key were issued before route keys existed, and stay valid. */
const FORM = /^(mg[wsc]_)((?:[0-9a-z]{4})?[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

export type BearerPrefix = 'mgw_' | 'mgs_' | 'mgc_';

/** A new bearer of an organisation and the hash that is stored instead. */
export function newBearer(
  prefix: BearerPrefix,
  orgId: string,
): { readonly token: string; readonly hash: string } {
  const random = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH);
  const secret = `${routeKey(orgId)}${random}`;
  const token = `${prefix}${secret}${checksum(prefix, secret)}`;
  return { token, hash: sha256(token) };
}

/** SHA-256 (hex) of a well-formed bearer; null when prefix, length, alphabet or checksum are wrong. */
export function hashBearer(prefix: BearerPrefix, token: string): string | null {
  const [, found, secret, sum] = FORM.exec(token) ?? [];
  return found === prefix && secret !== undefined && sum === checksum(prefix, secret) ? sha256(token) : null;
}

const sha256 = (token: string): string => hash('sha256', token, 'hex');
const checksum = (prefix: BearerPrefix, secret: string): string =>
  base62(BigInt(crc32(prefix + secret)), CHECKSUM_LENGTH);

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n)
    text = (ALPHABET[Number(rest % 62n)] ?? '') + text;
  return text;
}
