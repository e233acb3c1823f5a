/** The mail servers of a domain: those it names itself, those of its provider, or a guess. */
import type { MailRecords, MailService } from '../ports/mail-discovery.ts';
import type { HostSettings } from '../ports/mail-port.ts';
import { type Provider, providerOf } from './known-providers.ts';

export const DISCOVERY_SOURCES = ['srv', 'known', 'guess', 'none'] as const;

export interface FoundHosts {
  readonly imap: readonly HostSettings[];
  readonly smtp: readonly HostSettings[];
  readonly provider: Provider | null;
  readonly source: (typeof DISCOVERY_SOURCES)[number];
}

const MOST_HOSTS = 5;
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/** An address of the Internet is none: its last label is a number. */
export const isHostName = (name: string): boolean => HOST_NAME.test(name) && !/\.\d+$/.test(name);

const SECURITY = { imaps: 'tls', submissions: 'tls', imap: 'starttls', submission: 'starttls' } as const;

/** Hosts that domains often have, to be asked for beside the records. */
export const usualHosts = (domain: string): readonly string[] =>
  ['imap', 'mail', 'smtp'].map((name) => `${name}.${domain}`);

const NOTHING: FoundHosts = { imap: [], smtp: [], provider: null, source: 'none' };

export const noHosts = (): FoundHosts => NOTHING;

/** What is named for one of the two protocols wins over what is known of the provider, and that over a guess. */
export function foundHosts(domain: string, records: MailRecords): FoundHosts {
  if (records.exchangers.some((host) => host === '')) return NOTHING;
  const named = {
    imap: namedHosts(records, ['imaps', 'imap']),
    smtp: namedHosts(records, ['submissions', 'submission']),
  };
  const known = providerOf(records.exchangers);
  const provider = known?.provider ?? null;
  const rest = known ? { imap: [known.imap], smtp: [known.smtp] } : guessed(domain, records);
  const found = { imap: named.imap ?? rest.imap, smtp: named.smtp ?? rest.smtp, provider };
  if (found.imap.length + found.smtp.length === 0) return { ...NOTHING, provider };
  const isNamed = [named.imap, named.smtp].some((hosts) => hosts !== null && hosts.length > 0);
  return { ...found, source: isNamed ? 'srv' : known ? 'known' : 'guess' };
}

/** By priority, TLS from the start before STARTTLS, the heavier first. Null where the domain names none; empty where it offers none. */
function namedHosts({ services }: MailRecords, of: readonly MailService[]): readonly HostSettings[] | null {
  const records = of.flatMap((service, rank) =>
    services[service].map((record) => ({ ...record, rank, security: SECURITY[service] })),
  );
  if (records.length === 0) return null;
  return records
    .filter(({ host, port }) => isHostName(host) && port > 0)
    .toSorted((a, b) => a.priority - b.priority || a.rank - b.rank || b.weight - a.weight)
    .map(({ host, port, security }) => ({ host, port, security }))
    .slice(0, MOST_HOSTS);
}

function guessed(domain: string, { resolving }: MailRecords): Pick<FoundHosts, 'imap' | 'smtp'> {
  const present = (...names: readonly string[]): readonly string[] =>
    names.map((name) => `${name}.${domain}`).filter((host) => resolving.has(host));
  return {
    imap: present('imap', 'mail').map((host) => ({ host, port: 993, security: 'tls' })),
    smtp: present('smtp', 'mail').flatMap((host) => [
      { host, port: 465, security: 'tls' },
      { host, port: 587, security: 'starttls' },
    ]),
  };
}
