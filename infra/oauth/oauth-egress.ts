/**
 * Where the gateway speaks OAuth (`contract.md` 18): at the issuers that the operator's settings name, wherever they are, and at public
 * HTTPS servers that their metadata names. Tenants name no such host.
 */
import { GatewayError } from '../../commands/values/errors.ts';
import { type EgressGuard, type Resolve, vetAddresses } from '../mail/egress-guard.ts';
import { isPublic } from '../mail/egress-rules.ts';

const HTTPS_PORT = 443;

/** The port a URL means. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'http:' ? 80 : HTTPS_PORT) : Number(port);

/** A guard that opens what settings name by origin, and public addresses on the port of HTTPS. */
export function createOAuthGuard(named: readonly URL[], resolve?: Resolve): EgressGuard {
  const origins = new Set(named.map((url) => `${url.hostname}:${String(portOf(url))}`));
  return {
    vet: (host, port) => {
      const isNamed = origins.has(`${host}:${String(port)}`);
      return vetAddresses(host, {
        ...(resolve && { resolve }),
        allows: (ip) => isNamed || (port === HTTPS_PORT && isPublic(ip)),
        blocked: blocked(host, port),
      });
    },
  };
}

const blocked = (host: string, port: number): GatewayError =>
  new GatewayError(
    'target_blocked',
    `The provider's metadata names ${host}:${String(port)}, which is neither public nor the issuer's own host.`,
    { details: { reason: 'egress', host, port } },
  );
