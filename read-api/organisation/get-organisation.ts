/** GET /org. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { organisationOf } from '../../commands/organisation/manage-organisation.ts';
import { describeOrganisation, Organisation } from '../../commands/organisation/organisation-payload.ts';

const Input = z.strictObject({});

export const getOrganisation = defineCapability<z.output<typeof Input>, Organisation>({
  name: 'get_organisation',
  title: 'Organisation',
  summary: 'The organisation of this session or token.',
  description: 'Name, number of members, and until when it can be restored while it is deleted.',
  effect: 'read',
  access: { any: ['org:read'] },
  whileDeleted: true,
  rest: { method: 'get', path: '/org' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: Organisation,
  handle: (_, context) =>
    Promise.resolve(describeOrganisation(context.ports.directory.state, organisationOf(context))),
});
