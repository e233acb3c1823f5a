/** Restricts the hosts that tenants name to public addresses, and pins the address that was checked (`contract.md` 18). */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { GatewayError } from '../../commands/values/errors.ts';
import { isAllowed, isLoopback, parseEgressRule } from './egress-rules.ts';

export interface VettedTarget {
  /** The literal address to connect to: the name must not be resolved a second time. */
  readonly address: string;
  readonly isLoopback: boolean;
  /** The name the certificate must be for; absent for a literal address, which is no TLS server name. */
  readonly servername?: string;
}

export type Resolve = (host: string) => Promise<readonly string[]>;

export interface EgressGuard {
  /**
   * Returns the address to connect to. Throws `target_blocked` when any address of the host is neither public nor allowed
   * by a rule, `mailbox_unavailable` when the name does not resolve.
   */
  vet(host: string, port: number): Promise<VettedTarget>;
}

const DNS_TIMEOUT_MS = 10_000;

const resolveAll: Resolve = async (host) =>
  (await lookup(host, { all: true, order: 'ipv4first' })).map(({ address }) => address);

/** What a guard is for: the ports that need no rule, and the words of a refusal. */
export interface EgressKind {
  readonly ports: ReadonlySet<number>;
  readonly server: string;
  readonly setting: string;
}

export const MAIL_EGRESS: EgressKind = {
  ports: new Set([25, 143, 465, 587, 993]),
  server: 'mail server',
  setting: 'EGRESS_ALLOW_MAIL',
};

export const WEBHOOK_EGRESS: EgressKind = {
  ports: new Set([443]),
  server: 'HTTPS server',
  setting: 'EGRESS_ALLOW_WEBHOOKS',
};

export const APPLICATION_EGRESS: EgressKind = {
  ports: new Set([443]),
  server: 'HTTPS server',
  setting: 'EGRESS_ALLOW_OAUTH',
};

/** A guard with the operator's rules. Throws a one-sentence error for an invalid rule. */
export function createEgressGuard(
  allow: readonly string[],
  resolve: Resolve = resolveAll,
  kind: EgressKind = MAIL_EGRESS,
): EgressGuard {
  const allowed = { rules: allow.map(parseEgressRule), ports: kind.ports };
  return {
    vet: (host, port) =>
      vetAddresses(host, {
        resolve,
        blocked: blocked(host, port, kind),
        allows: (ip) => isAllowed(allowed, ip, port),
      }),
  };
}

export interface Vetting {
  readonly resolve?: Resolve;
  readonly allows: (ip: string) => boolean;
  /** What is thrown when an address is not allowed. */
  readonly blocked: GatewayError;
}

/** Resolves a host once and checks every address of it against the rule. Throws like `EgressGuard.vet`. */
export async function vetAddresses(
  host: string,
  { resolve = resolveAll, allows, blocked }: Vetting,
): Promise<VettedTarget> {
  const literal = host.replace(/^\[(.*)\]$/, '$1');
  const isLiteral = isIP(literal) !== 0;
  const addresses = isLiteral ? [literal] : await resolved(resolve, host);
  const [address] = addresses;
  if (address === undefined) throw unresolved(host);
  // One forbidden address refuses the host: it is unknown which one a client would use.
  if (!addresses.every((each) => isIP(each) !== 0 && allows(each))) throw blocked;
  return {
    address,
    isLoopback: addresses.every(isLoopback),
    ...(isLiteral ? {} : { servername: host }),
  };
}

async function resolved(resolve: Resolve, host: string): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(unresolved(host));
    }, DNS_TIMEOUT_MS);
    // Nobody may wait for it any longer.
    timer.unref();
  });
  try {
    return await Promise.race([resolve(host), tooLong]);
  } catch (cause) {
    throw unresolved(host, cause);
  } finally {
    clearTimeout(timer);
  }
}

const blocked = (host: string, port: number, { server, setting }: EgressKind): GatewayError =>
  new GatewayError(
    'target_blocked',
    `${host}:${String(port)} is not a public ${server} and no egress rule allows it; an operator can add one with ${setting}.`,
    { details: { reason: 'egress', host, port } },
  );

const unresolved = (host: string, cause?: unknown): GatewayError =>
  new GatewayError('mailbox_unavailable', `The host name ${host} does not resolve; check its spelling.`, {
    details: { reason: 'dns' },
    retryAfterSeconds: 30,
    cause,
  });
