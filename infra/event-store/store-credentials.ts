/** User and password in the address of an event store. */
import type { Credentials } from '@eventstore/db-client';

export interface GivenCredentials {
  readonly credentials: Credentials;
  /** True for one node on this machine without TLS. */
  readonly isPlainLoopback: boolean;
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Null when the address names none. */
export function credentialsIn(url: string): GivenCredentials | null {
  const match = /^[^:]+:\/\/([^:@/?]+):([^@/?]+)@([^?]*?)\/?(?:\?(.*))?$/.exec(url.trim());
  if (!match) return null;
  const [, username = '', password = '', hosts = '', settings = ''] = match;
  return {
    credentials: { username: decodeURIComponent(username), password: decodeURIComponent(password) },
    isPlainLoopback: LOOPBACK.has(hosts.replace(/:\d+$/, '')) && /(?:^|&)tls=false(?:&|$)/i.test(settings),
  };
}
