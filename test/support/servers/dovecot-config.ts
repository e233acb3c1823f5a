/** The configuration of a private Dovecot 2.3 in one file: loopback only, everything below one folder. */
import { join } from 'node:path';

export interface DovecotPorts {
  readonly imap: number;
  readonly imaps: number;
  readonly lmtp: number;
}

export interface DovecotAccount {
  readonly user: string;
  readonly uid: number;
  readonly group: string;
  readonly gid: number;
}

export interface DovecotSettings {
  readonly folder: string;
  readonly ports: DovecotPorts;
  /** The owner of the mail; the server itself also runs as this account unless root starts it. */
  readonly account: DovecotAccount;
  readonly asRoot: boolean;
  /** The password of every user, without blanks; each user name is a separate mailbox. */
  readonly password: string;
  /** A file that names the introspection endpoint for access tokens (RFC 7662); null = passwords only. */
  readonly introspectionFile: string | null;
  /** PEM files; without them there is no TLS. */
  readonly tls: { readonly certificateFile: string; readonly keyFile: string } | null;
  /** The capabilities the server announces; null = all it has. */
  readonly capability: string | null;
  /** SPECIAL-USE attributes on the standard folders. */
  readonly specialUse: boolean;
  /** Whether the server accepts mail over LMTP, which is a separate package on many systems. */
  readonly lmtp: boolean;
  /** Connections per user; the next login is refused with the code LIMIT. */
  readonly maxUserConnections: number;
  /** Connections at once; absent = 500. */
  readonly mostClients?: number;
}

const PASSWORD_MECHANISMS = 'plain login';
const TOKEN_MECHANISMS = 'xoauth2 oauthbearer';
const STANDARD_FOLDERS = ['Drafts', 'Sent', 'Trash', 'Junk', 'Archive'];

/** The text of `dovecot.conf`. */
export function dovecotConfig(settings: DovecotSettings): string {
  return [
    ...general(settings),
    ...tls(settings),
    ...accounts(settings),
    ...folders(settings),
    ...services(settings),
    ...(settings.capability === null
      ? []
      : ['protocol imap {', `  imap_capability = ${settings.capability}`, '}']),
    '',
  ].join('\n');
}

const general = ({
  folder,
  account,
  maxUserConnections,
  introspectionFile,
  lmtp,
}: DovecotSettings): string[] => [
  // The system limits change notifications per account (inotify: 128 at once). Without them Dovecot polls
  // every 30 seconds.
  'mailbox_idle_check_interval = 1 secs',
  `base_dir = ${join(folder, 'run')}`,
  `state_dir = ${join(folder, 'state')}`,
  `log_path = ${join(folder, 'dovecot.log')}`,
  `protocols = imap${lmtp ? ' lmtp' : ''}`,
  'listen = 127.0.0.1',
  'disable_plaintext_auth = no',
  `auth_mechanisms = ${PASSWORD_MECHANISMS}${introspectionFile === null ? '' : ` ${TOKEN_MECHANISMS}`}`,
  // Failed logins would take seconds, longer with each one from the same address.
  'auth_failure_delay = 0',
  'first_valid_uid = 1',
  'first_valid_gid = 1',
  `mail_uid = ${account.user}`,
  `mail_gid = ${account.group}`,
  'mail_location = sdbox:~/mail',
  'mail_fsync = never',
  `mail_max_userip_connections = ${String(maxUserConnections)}`,
];

const tls = ({ tls: files }: DovecotSettings): string[] =>
  files === null
    ? ['ssl = no']
    : [
        'ssl = yes',
        `ssl_cert = <${files.certificateFile}`,
        `ssl_key = <${files.keyFile}`,
        'ssl_min_protocol = TLSv1.2',
      ];

const accounts = ({ folder, account, password, introspectionFile }: DovecotSettings): string[] => [
  'passdb {',
  '  driver = static',
  `  mechanisms = ${PASSWORD_MECHANISMS}`,
  `  args = password=${password}`,
  '}',
  ...(introspectionFile === null
    ? []
    : [
        'passdb {',
        '  driver = oauth2',
        `  mechanisms = ${TOKEN_MECHANISMS}`,
        `  args = ${introspectionFile}`,
        '}',
      ]),
  'userdb {',
  '  driver = static',
  `  args = uid=${account.user} gid=${account.group} home=${join(folder, 'mail')}/%u allow_all_users=yes`,
  '}',
];

const folders = ({ specialUse }: DovecotSettings): string[] => [
  'namespace inbox {',
  '  inbox = yes',
  '  separator = /',
  ...STANDARD_FOLDERS.flatMap((name) => [
    `  mailbox ${name} {`,
    '    auto = subscribe',
    ...(specialUse ? [`    special_use = \\${name}`] : []),
    '  }',
  ]),
  '}',
];

function services({
  ports,
  account,
  asRoot,
  tls: files,
  lmtp,
  mostClients = 500,
}: DovecotSettings): string[] {
  const chroot = asRoot ? [] : ['  chroot ='];
  const listener = (name: string, port: number, more: string[] = []): string[] => [
    `  inet_listener ${name} {`,
    '    address = 127.0.0.1',
    `    port = ${String(port)}`,
    ...more,
    '  }',
  ];
  return [
    ...(asRoot
      ? []
      : ['default_internal_user', 'default_login_user']
          .map((name) => `${name} = ${account.user}`)
          .concat(`default_internal_group = ${account.group}`)),
    'service imap-login {',
    ...chroot,
    '  service_count = 0',
    `  client_limit = ${String(Math.max(1_000, mostClients))}`,
    '  process_limit = 1',
    ...listener('imap', ports.imap),
    ...listener('imaps', files === null ? 0 : ports.imaps, files === null ? [] : ['    ssl = yes']),
    '}',
    'service imap {',
    `  process_limit = ${String(mostClients)}`,
    '}',
    'service anvil {',
    ...chroot,
    '  client_limit = 3000',
    '  unix_listener anvil-auth-penalty {',
    '    mode = 0',
    '  }',
    '}',
    'service stats {',
    ...chroot,
    '  client_limit = 3000',
    '}',
    'service auth {',
    '  client_limit = 3000',
    '}',
    ...(lmtp ? ['service lmtp {', ...listener('lmtp', ports.lmtp), '}'] : []),
  ];
}
