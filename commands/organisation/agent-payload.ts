/** An agent as callers see it. */
import { z } from 'zod';
import type { AgentEntry } from '../ports/directory.ts';

export const Agent = z.object({
  id: z.string(),
  name: z.string(),
  owner_id: z.string().describe('The person whose grants bound it.'),
  created_at: z.string(),
});
export type Agent = z.output<typeof Agent>;

export const describeAgent = (entry: AgentEntry): Agent => ({
  id: entry.id,
  name: entry.name,
  owner_id: entry.ownerId,
  created_at: entry.createdAt,
});

/** An agent has one event so far, its creation. */
export const agentVersion = (): string => '1';
