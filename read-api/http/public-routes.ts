/** Every route of `/api/v1` that needs no bearer (`contract.md` 18). */
import { readPasswordLink, resetPassword } from '../../commands/accounts/change-password.ts';
import { forgotPassword } from '../../commands/accounts/forgot-password.ts';
import { signIn } from '../../commands/accounts/sign-in.ts';
import { resendVerification, verifyAddress } from '../../commands/accounts/verify-email.ts';
import type { AnyPublicRoute } from '../../commands/kernel/public-route.ts';
import { acceptInviteRoute, readInviteLink } from '../../commands/organisation/accept-invite.ts';
import { setUpOrganisation } from '../../commands/organisation/found-organisation.ts';
import { signUp } from '../../commands/organisation/sign-up.ts';
import { z } from 'zod';
import type { ServerInfo } from '../../commands/ports/ports.ts';
import { definePublicRoute, type Routes } from '../../commands/kernel/public-route.ts';
import { openApiDocument } from './openapi.ts';

const OpenApi = z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) });
type OpenApi = z.output<typeof OpenApi>;

/** It is the same for as long as the process runs. */
const documents = new WeakMap<ServerInfo, OpenApi>();

function documentOf(routes: Routes, server: ServerInfo): OpenApi {
  const known = documents.get(server);
  if (known) return known;
  const document = OpenApi.parse(openApiDocument(routes, server));
  documents.set(server, document);
  return document;
}

export const getOpenapi = definePublicRoute<Record<string, never>, OpenApi>({
  name: 'get_openapi',
  title: 'OpenAPI document',
  summary: 'This API as an OpenAPI 3.1 document.',
  description: 'Every route that exists, with its schemas and errors.',
  rest: { method: 'get', path: '/openapi.json', status: 200 },
  input: z.strictObject({}),
  output: OpenApi,
  handle: async (_, { routes, ports }) => documentOf(routes, ports.server),
});

export const publicRoutes: readonly AnyPublicRoute[] = [
  getOpenapi,
  setUpOrganisation,
  signUp,
  signIn,
  verifyAddress,
  resendVerification,
  forgotPassword,
  readPasswordLink,
  resetPassword,
  readInviteLink,
  acceptInviteRoute,
];
