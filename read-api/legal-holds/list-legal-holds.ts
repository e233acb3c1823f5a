/** GET /legal-holds and one of them. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { describeHold, Hold } from '../../commands/legal-holds/hold-payload.ts';
import { holdIn } from '../../commands/legal-holds/manage-holds.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Holds = collectionOf(Hold);
const ListInput = z.strictObject(pageFields);
const GetInput = z.strictObject({ hold_id: z.string().min(1).max(64) });
const ACCESS = { any: ['holds:manage'], inSession: true } as const;

export const listLegalHolds = defineCapability<z.output<typeof ListInput>, z.output<typeof Holds>>({
  name: 'list_legal_holds',
  title: 'List legal holds',
  summary: 'The legal holds of the organisation, newest first, with those that were released.',
  description: 'The legal holds of the organisation, newest first, with those that were released.',
  effect: 'read',
  access: ACCESS,
  rest: { method: 'get', path: '/legal-holds' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Holds,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const entries = [...ports.directory.state.legalHolds.values()].filter(
      ({ orgId }) => orgId === caller.org.id,
    );
    const binding = { route: 'legal-holds', query: null };
    const { items, page } = pageOfEntries(context, binding, input, {
      entries,
      describe: (entry) => describeHold(ports, entry),
    });
    return { items: await Promise.all(items), page };
  },
});

export const getLegalHold = defineCapability<z.output<typeof GetInput>, Hold>({
  name: 'get_legal_hold',
  title: 'Get a legal hold',
  summary: 'One legal hold of the organisation.',
  description: 'One legal hold of the organisation, with who asked for its release and whom it waits for.',
  effect: 'read',
  access: ACCESS,
  rest: { method: 'get', path: '/legal-holds/:hold_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Hold,
  handle: async ({ hold_id }, context) => await describeHold(context.ports, holdIn(context, hold_id)),
});
