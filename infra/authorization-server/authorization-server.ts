/** The authorization server of this gateway (OAuth 2.1, for MCP clients), put together. */
import type { KeyObject } from 'node:crypto';
import type { Router } from 'express';
import type { Ports } from '../../commands/ports/ports.ts';
import { APPLICATION_EGRESS, createEgressGuard } from '../egress/egress-guard.ts';
import { guardedFetch } from '../oauth/guarded-fetch.ts';
import type { SigningKey } from '../security/vault.ts';
import { documentFetch } from './client-documents.ts';
import { GrantRecords } from './grant-records.ts';
import { oauthRouter } from './oauth-router.ts';
import { createProvider } from './provider.ts';
import { StateRows } from './state-rows.ts';

export interface AuthorizationServerOptions {
  readonly ports: Ports;
  readonly masterKey: KeyObject;
  /** The first one signs. */
  readonly signingKeys: readonly [SigningKey, ...SigningKey[]];
  /** Where metadata documents may be fetched besides public addresses. */
  readonly egressAllow: readonly string[];
  readonly selfRegistration: boolean;
}

/** A router for `/oauth`. */
export function openAuthorizationServer(options: AuthorizationServerOptions): Router {
  const { ports, masterKey, signingKeys, egressAllow, selfRegistration } = options;
  const { sql, clock, directory, server } = ports;
  const rows = new StateRows({ sql, masterKey, clock });
  const guard = createEgressGuard(egressAllow, undefined, APPLICATION_EGRESS);
  const provider = createProvider({
    ports,
    rows,
    directory,
    clock,
    records: new GrantRecords(ports),
    resource: `${server.baseUrl}/mcp`,
    signingKey: signingKeys[0],
    fetch: documentFetch({ rows, clock, fetch: guardedFetch(guard) }),
    selfRegistration,
  });
  return oauthRouter({ ports, rows, provider, signingKeys, selfRegistration });
}
