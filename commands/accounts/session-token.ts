/** POST /auth/session/token: a short-lived JWT made from a session, for MCP and for programs; it ends with the session. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import { chosenScopes, type Scope, SCOPES, SESSION_ONLY_SCOPES } from '../values/scopes.ts';

const MOST_SECONDS = 600;
/** Tokens are made and revoked only in the session itself: a token made with this one would not end with the session. */
const KEPT_BACK: readonly Scope[] = [...SESSION_ONLY_SCOPES, 'tokens:manage'];

const Input = z.strictObject({
  audience: z.string().max(2_048).describe('Where it is sent to: {base_url}/mcp or {base_url}/api/v1.'),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional().describe('Absent = what you hold.'),
  ttl_seconds: z.int().min(1).max(MOST_SECONDS).default(MOST_SECONDS),
});
type Input = z.output<typeof Input>;

const SessionToken = z.object({ token: z.string(), expires_at: z.string() });
type SessionToken = z.output<typeof SessionToken>;

export const createSessionToken = defineCapability<Input, SessionToken>({
  name: 'create_session_token',
  title: 'Make a token from this session',
  summary: 'Makes a JWT of at most ten minutes from this session.',
  description:
    'Makes a JWT for MCP or for REST with scopes you hold. It ends with the session at the latest, is refused as soon as the ' +
    'session ends, acts on your behalf (delegated), never decides approvals and makes no tokens. What needs a fresh password in ' +
    'the session needs it with this token too.',
  effect: 'write',
  access: 'stepped-up-session',
  rest: { method: 'post', path: '/auth/session/token' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: SessionToken,
  handle: async ({ audience, scopes, ttl_seconds }, { caller, ports }) => {
    const { token, principal, org } = caller;
    const now = ports.clock.now();
    const held = token.scopes.filter((scope) => !KEPT_BACK.includes(scope));
    const end = Math.min(now.getTime() + ttl_seconds * 1_000, Date.parse(token.expiresAt));
    // A JWT expires at a whole second.
    const expiresAt = new Date(Math.floor(end / 1_000) * 1_000);
    const claims = {
      tokenId: token.id,
      subject: principal.id,
      orgId: org.id,
      scopes: scopes === undefined ? held : chosenScopes({ scopes }, held),
      issuedAt: now,
      expiresAt,
    };
    const jwt = await ports.tokens.signAccessToken(claims, audienceOf(ports, audience));
    return { token: jwt, expires_at: expiresAt.toISOString() };
  },
});

/** Throws `invalid_request` for any other address. */
function audienceOf({ server }: Context['ports'], audience: string): string {
  if ([`${server.baseUrl}/mcp`, `${server.baseUrl}/api/v1`].includes(audience)) return audience;
  const message = `Say ${server.baseUrl}/mcp or ${server.baseUrl}/api/v1.`;
  throw new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'audience', code: 'custom', message }] },
  });
}
