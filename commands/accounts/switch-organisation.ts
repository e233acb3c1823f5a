/** POST /auth/switch-org: a session is of one organisation; this replaces it by one in another (`contract.md` 18). */
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { requireSession } from '../kernel/live-caller.ts';
import { memberOfOrg, restorerOf } from '../kernel/membership.ts';
import { notFound } from '../values/errors.ts';
import { beginSession, SignedIn } from './begin-session.ts';
import { continueSession, session, switchSession } from './session.ts';

const Input = z.strictObject({ org_id: z.string().min(1).max(64) });
type Input = z.output<typeof Input>;

export const switchOrganisation = defineCapability<Input, SignedIn>({
  name: 'switch_organisation',
  title: 'Switch the organisation',
  summary: 'Replaces this session by one in another of your organisations.',
  description:
    'Ends this session and answers another one, as sign-in does, with the same end and the same time until which the password ' +
    'counts as just given. Ending this session later ends that one too.',
  effect: 'write',
  access: 'session',
  whileDeleted: true,
  rest: { method: 'post', path: '/auth/switch-org' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: SignedIn,
  handle: async ({ org_id: orgId }, context) => {
    const { caller, ports, author } = context;
    const { id: oldId } = requireSession(caller);
    const userId = caller.principal.id;
    const { state } = ports.directory;
    const place = memberOfOrg(state, orgId, userId) ?? restorerOf(state, orgId, userId);
    if (place === null) throw notFound('organisation');
    const id = ports.ids.newId('ses');
    // The old one first: at no moment are both valid.
    const { state: old } = await decideAndAppend(ports, author, session, {
      id: oldId,
      decide: (current, now) => switchSession(current, id, now),
    });
    const inNext = { ...author, orgId, actor: { ...author.actor, session_id: id } };
    const next = { id, userId, orgId };
    const { position, describe } = await beginSession(ports, inNext, next, (current, secretHash) =>
      continueSession(current, { userId, secretHash, ends: old }),
    );
    context.notePosition(position);
    const signedIn = describe();
    if (signedIn === null) throw notFound('organisation');
    return signedIn;
  },
});
