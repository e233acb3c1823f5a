/** Mail servers from DNS, asked of the name servers of this process. */
import dns from 'node:dns';
import { Resolver } from 'node:dns/promises';
import {
  MAIL_SERVICES,
  type MailDiscovery,
  type MailRecords,
  type MailService,
  type ServiceRecord,
} from '../../commands/ports/mail-discovery.ts';

/** For everything that is asked about one domain. */
const DEADLINE_MS = 5_000;
const TRY_MS = 2_000;
const TRIES = 2;
const MOST_RECORDS = 20;

export const dnsDiscovery: MailDiscovery = {
  recordsOf: async (domain, hosts) => {
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
    resolver.setServers(dns.getServers());
    const deadline = setTimeout(() => {
      resolver.cancel();
    }, DEADLINE_MS);
    try {
      return await ask(resolver, domain, hosts);
    } finally {
      clearTimeout(deadline);
    }
  },
};

async function ask(resolver: Resolver, domain: string, hosts: readonly string[]): Promise<MailRecords> {
  const [services, exchangers, resolving] = await Promise.all([
    Promise.all(MAIL_SERVICES.map((service) => recordsOf(resolver, service, domain))),
    found(resolver.resolveMx(domain)),
    Promise.all(hosts.map((host) => hasAddress(resolver, host))),
  ]);
  const byService = MAIL_SERVICES.map((service, index) => [service, services[index] ?? []]);
  return {
    services: Object.fromEntries(byService) as Record<MailService, readonly ServiceRecord[]>,
    exchangers: exchangers.map(({ exchange }) => nameOf(exchange)),
    resolving: new Set(hosts.filter((_, index) => resolving[index])),
  };
}

async function recordsOf(
  resolver: Resolver,
  service: MailService,
  domain: string,
): Promise<readonly ServiceRecord[]> {
  const records = await found(resolver.resolveSrv(`_${service}._tcp.${domain}`));
  return records.map(({ name, port, priority, weight }) => ({ host: nameOf(name), port, priority, weight }));
}

async function hasAddress(resolver: Resolver, host: string): Promise<boolean> {
  const [four, six] = await Promise.all([found(resolver.resolve4(host)), found(resolver.resolve6(host))]);
  return four.length + six.length > 0;
}

const nameOf = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** What DNS does not know, or not in time, is nothing: the person types the hosts then. */
async function found<T>(answer: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return (await answer).slice(0, MOST_RECORDS);
  } catch (error) {
    if (isOfDns(error)) return [];
    throw error;
  }
}

const isOfDns = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && String(error.syscall).startsWith('query');
