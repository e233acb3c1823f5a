/** GET /users/me: the own account. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { describeMe, Me } from '../../commands/organisation/own-account.ts';

const NoInput = z.strictObject({});

export const getMe = defineCapability<z.output<typeof NoInput>, Me>({
  name: 'get_me',
  title: 'The own account',
  summary: 'Your name, address, settings and organisations.',
  description:
    'Your name, address and settings, and the organisations you are a member of, the oldest membership first.',
  effect: 'read',
  access: 'session',
  whileDeleted: true,
  rest: { method: 'get', path: '/users/me' },
  tool: null,
  idempotency: { kind: 'none' },
  input: NoInput,
  output: Me,
  handle: (_, context) => Promise.resolve(describeMe(context)),
});
