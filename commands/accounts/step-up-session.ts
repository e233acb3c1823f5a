/** POST /auth/step-up: the password again, for what wants it fresh (`contract.md` 18). */
import { z } from 'zod';
import { answerWhenKnown } from '../kernel/await-directory.ts';
import { defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { requireSession } from '../kernel/step-up.ts';
import { confirmPassword, GivenPassword } from './credentials.ts';
import { session, stepUp } from './session.ts';

const Input = z.strictObject({ password: GivenPassword });
const SteppedUp = z.object({ stepped_up_until: z.string() });
type SteppedUp = z.output<typeof SteppedUp>;

export const stepUpSession = defineCapability<z.output<typeof Input>, SteppedUp>({
  name: 'step_up',
  title: 'Confirm the password',
  summary: 'Enters the password again, for calls that need a fresh one.',
  description:
    'For 15 minutes this session may decide approvals, set the policy, issue tokens and change credentials, as far as your ' +
    'role goes. Signing in counts as the first time.',
  effect: 'write',
  access: 'session',
  rest: { method: 'post', path: '/auth/step-up' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: SteppedUp,
  handle: async ({ password }, context) => {
    const { caller, ports, writer, author } = context;
    const { id } = requireSession(caller);
    await confirmPassword(context, password);
    const now = ports.clock.now();
    const { state, position } = await decideAndAppend(writer, author, session, {
      id,
      decide: (current) => stepUp(current, now),
    });
    await answerWhenKnown(context, position);
    return { stepped_up_until: state.steppedUpUntil };
  },
});
