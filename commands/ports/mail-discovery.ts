/** What DNS tells about the mail servers of a domain. Nothing connects to them. */

/** The services of RFC 6186 and RFC 8314: `_imaps._tcp.<domain>` and so on. */
export const MAIL_SERVICES = ['imaps', 'imap', 'submissions', 'submission'] as const;
export type MailService = (typeof MAIL_SERVICES)[number];

/** One SRV record. `host` is empty where the domain says that it does not offer the service (RFC 2782: the target `.`). */
export interface ServiceRecord {
  readonly host: string;
  readonly port: number;
  /** Lower is used first. */
  readonly priority: number;
  readonly weight: number;
}

/** Records that do not exist, or did not arrive in time, are absent. */
export interface MailRecords {
  readonly services: Readonly<Record<MailService, readonly ServiceRecord[]>>;
  /** The hosts that take the domain's mail; an empty one where the domain takes none (RFC 7505). */
  readonly exchangers: readonly string[];
  /** Of the hosts that were asked for: those that have an address. */
  readonly resolving: ReadonlySet<string>;
}

export interface MailDiscovery {
  /** Never rejects; resolves within five seconds. Names are in lower case, without a dot at the end. */
  recordsOf(domain: string, hosts: readonly string[]): Promise<MailRecords>;
}
