/** DELETE /org/connected-applications/:grant_id: takes back what a person allowed an application. */
import { z } from 'zod';
import { defineCapability, Nothing, replayNothing } from '../kernel/capability.ts';
import { notFound } from '../values/errors.ts';
import { endConnections, maySee } from './connections.ts';

const Input = z.strictObject({ grant_id: z.string().min(1).max(64) });

export const disconnectApplication = defineCapability<z.output<typeof Input>, Nothing>({
  name: 'disconnect_application',
  title: 'Disconnect an application',
  summary: 'Ends what an application may do in your name; owners may end it for everybody.',
  description:
    'Ends the permission at once, in every process: its tokens are refused, its MCP sessions and waits end. What it did stays in ' +
    'the audit trail.',
  effect: 'write',
  access: { any: ['org:manage'], freeInSession: true },
  rest: { method: 'delete', path: '/org/connected-applications/:grant_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: Input,
  output: Nothing,
  handle: async ({ grant_id }, context) => {
    const { caller, ports, author } = context;
    const entry = ports.directory.state.oauthGrants.get(grant_id);
    if (!entry || !maySee(caller, entry)) throw notFound('connected application');
    await context.claim('req');
    context.notePosition(await endConnections(ports, author, { entries: [entry], reason: 'revoked' }));
    return {};
  },
});
