/** How far a trial connection to a mail server came. */
export interface ConnectionReport {
  readonly ok: boolean;
  readonly stage: 'egress' | 'connect' | 'tls' | 'greeting' | 'login' | 'ready';
  readonly latencyMs: number;
  readonly error?: string;
}
