import type { Ports } from '../ports/ports.ts';

/** What drafts are made of. */
export type DraftPorts = Pick<
  Ports,
  'clock' | 'ids' | 'events' | 'personal' | 'content' | 'composer' | 'directory' | 'locators' | 'mail' | 'log'
>;
