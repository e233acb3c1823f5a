/** DELETE /tokens/:token_id: revokes a token. */
import { z } from 'zod';
import { answerWhenKnown } from '../kernel/await-directory.ts';
import { defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { notFound } from '../values/errors.ts';
import { Nothing, replayNothing } from '../values/empty-response.ts';
import { revokeToken, token } from './token.ts';
import { managesToken } from './visible-tokens.ts';

const Input = z.strictObject({ token_id: z.string().min(1).max(64) });

export const deleteToken = defineCapability<z.output<typeof Input>, Nothing>({
  name: 'delete_token',
  title: 'Revoke a token',
  summary: 'Revokes a token of yours or of your agents; owners and admins any of the organisation.',
  description: 'Revokes a token: every request with it is refused from then on. Also the one that asks.',
  effect: 'write',
  access: { any: ['tokens:manage'], freeInSession: true },
  rest: { method: 'delete', path: '/tokens/:token_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: Input,
  output: Nothing,
  handle: async ({ token_id }, context) => {
    const { caller, ports, writer, author } = context;
    const entry = ports.directory.state.tokens.get(token_id);
    if (!entry || !managesToken(caller, ports.directory.state, entry)) throw notFound('token');
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, token, { id: token_id, decide: revokeToken });
    await answerWhenKnown(context, position);
    return {};
  },
});
