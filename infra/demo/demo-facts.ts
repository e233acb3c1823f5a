/** `<DATA_DIR>/demo.json`: what a script needs to use the demo. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const Server = z.object({ host: z.string(), port: z.int(), user: z.string(), password: z.string() });

const DemoFacts = z.object({
  base_url: z.string(),
  mcp_url: z.string(),
  rest_token: z.string(),
  mcp_token: z.string(),
  org_id: z.string(),
  user_id: z.string(),
  agent_id: z.string(),
  mailbox_id: z.string(),
  owner_email: z.string(),
  owner_password: z.string(),
  imap: Server,
  smtp: Server,
});
export type DemoFacts = z.output<typeof DemoFacts>;

const fileIn = (dataDir: string): string => join(dataDir, 'demo.json');

/** The facts of an earlier demo on this folder, or null. */
export function readDemoFacts(dataDir: string): DemoFacts | null {
  if (!existsSync(fileIn(dataDir))) return null;
  const parsed = DemoFacts.safeParse(JSON.parse(readFileSync(fileIn(dataDir), 'utf8')));
  return parsed.success ? parsed.data : null;
}

/** Readable by its owner only: tokens and a password are in it. */
export function writeDemoFacts(dataDir: string, facts: DemoFacts): void {
  writeFileSync(fileIn(dataDir), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
}
