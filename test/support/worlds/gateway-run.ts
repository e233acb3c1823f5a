/** The ports of one run of a gateway, real up to the network: a process's contents without the process. */
import type { KeyObject } from 'node:crypto';
import type { Ports } from '../../../commands/ports/ports.ts';
import { recordMailFailure, recordMailHealth } from '../../../commands/mailboxes/connect-mailbox.ts';
import { openAccessStream } from '../../../infra/audit/access-stream.ts';
import { openEventStore } from '../../../infra/event-store/event-store-client.ts';
import { createEgressGuard } from '../../../infra/egress/egress-guard.ts';
import { ImapGateway } from '../../../infra/mail/imap-gateway.ts';
import { PostgresContentStore } from '../../../infra/content-store/postgres-content-store.ts';
import { createChangeAttribution } from '../../../infra/mail-sync/postgres-change-attribution.ts';
import { mailSettingsOf } from '../../../infra/process/mail-settings.ts';
import { createMailLogins } from '../../../infra/oauth/oauth-mail-logins.ts';
import { startLeases } from '../../../infra/postgres/leases.ts';
import { openPool, postgresSql } from '../../../infra/postgres/pool.ts';
import { createPersonalData } from '../../../infra/security/personal-data.ts';
import { createSecrets } from '../../../infra/security/secrets.ts';
import { SmtpGateway } from '../../../infra/smtp/smtp-gateway.ts';
import { silentLog } from '../fakes/silent-log.ts';

/** The addresses of a run's stores, and what all runs on them share. */
export interface RunHome {
  readonly databaseUrl: string;
  readonly eventStoreUrl: string;
  readonly imapPort: number;
  /** The port where the mailboxes submit; absent = the one in their settings. */
  readonly smtpPort?: number;
  readonly masterKey: KeyObject;
  /** Clock, ids, keys and the directory, which only reads. */
  readonly shared: Ports;
}

export interface GatewayRun {
  readonly ports: Ports;
  /** Closes what is open; safe when its stores are unreachable. */
  close(): Promise<void>;
}

/** Opens pool, event store, leases and mail under its own run id. Connects lazily. */
export function openRun(home: RunHome): GatewayRun {
  const { shared, masterKey } = home;
  const log = silentLog;
  const pool = openPool({ url: home.databaseUrl, log, size: 4 });
  const sql = postgresSql(pool);
  const events = openEventStore({ url: home.eventStoreUrl, log });
  const leases = startLeases(sql, log);
  const secrets = createSecrets(sql, masterKey);
  const logins = createMailLogins({
    secrets,
    clock: shared.clock,
    refresh: () => Promise.reject(new Error('these mailboxes have passwords')),
  });
  const personal = createPersonalData({ sql, clock: shared.clock, masterKey });
  const accessLog = openAccessStream({ ...shared, events, personal, log, runId: leases.runId });
  const guard = createEgressGuard(['127.0.0.0/8:*']);
  // As in the gateway: a state that cannot be written now is written at its next occurrence.
  const note = (written: Promise<void>): void => {
    written.catch(() => undefined);
  };
  const mail = new ImapGateway({
    loadSettings: async (mailboxId) => {
      const settings = await mailSettingsOf(shared.directory, logins, mailboxId);
      return { ...settings, imap: { ...settings.imap, port: home.imapPort } };
    },
    guard,
    providerConnections: 4,
    log,
    onMailboxTrouble: (mailboxId, error) => {
      note(recordMailFailure(ports, mailboxId, error));
    },
    onMailboxHealthy: (mailboxId) => {
      note(recordMailHealth(ports, mailboxId));
    },
  });
  const submission = new SmtpGateway({
    loadSettings: async (mailboxId) => {
      const settings = await mailSettingsOf(shared.directory, logins, mailboxId);
      const { smtp } = settings;
      return { ...settings, smtp: smtp && { ...smtp, port: home.smtpPort ?? smtp.port } };
    },
    login: { guard, extraCertificates: [], connectTimeoutMs: 5_000 },
    atOnce: 4,
  });
  const { clock, directory } = shared;
  const content = new PostgresContentStore({ sql, masterKey, clock, log, directory });
  const changeAttribution = createChangeAttribution({ sql, mailboxNumber: () => null });
  const ports: Ports = {
    ...shared,
    submission,
    content,
    changeAttribution,
    sql,
    events,
    leases,
    secrets,
    logins,
    personal,
    accessLog,
    mail,
    log,
  };
  return {
    ports,
    close: async () => {
      mail.close();
      await events.close();
      // Both write last lines first, which an unreachable run cannot.
      await Promise.allSettled([accessLog.close(), leases.close()]);
      await pool.end();
    },
  };
}
