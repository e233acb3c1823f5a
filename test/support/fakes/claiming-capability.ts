/** A capability whose writes are claimed by key: it creates a thing slowly, interruptible anywhere. */
import { z } from 'zod';
import { type CapabilityDefinition, defineCapability } from '../../../commands/kernel/capability.ts';
import { decideAndAppend, type Aggregate } from '../../../commands/kernel/decide-and-append.ts';
import { catalogueOf, defineEvent } from '../../../commands/values/event.ts';

export const ThingMade = defineEvent({
  type: 'ThingMade',
  summary: 'A thing was made.',
  data: z.object({ name: z.string() }),
  webhook: null,
});

export const thing: Aggregate<{ name: string | null }, typeof ThingMade> = {
  category: 'thing',
  catalogue: catalogueOf([ThingMade]),
  initial: { name: null },
  evolve: (_, { data }) => data,
};

interface ThingInput {
  name: string;
  refuse?: boolean | undefined;
}
const Thing = z.object({ id: z.string(), name: z.string() });

export interface ThingMaker {
  readonly capability: CapabilityDefinition<ThingInput, z.output<typeof Thing>>;
  /** Ids of things whose creation began. */
  readonly begun: string[];
  /** Ids of things whose creation finished. */
  readonly made: Map<string, string>;
  /** Called between the claim and the effect; a throw interrupts the request there. */
  meanwhile: () => Promise<void>;
}

/** `rule`: more of its idempotency. */
export function thingMaker(rule: { readonly claimsFirst?: true } = {}): ThingMaker {
  const begun: string[] = [];
  const made = new Map<string, string>();
  const maker: ThingMaker = {
    begun,
    made,
    meanwhile: () => Promise.resolve(),
    capability: defineCapability<ThingInput, z.output<typeof Thing>>({
      name: 'make_thing',
      title: 'Make a thing',
      summary: 'Makes a thing.',
      description: 'Makes a thing.',
      effect: 'write',
      access: 'any-token',
      rest: { method: 'post', path: '/things', status: 201, location: ({ id }) => `/things/${id}` },
      tool: null,
      idempotency: {
        kind: 'claim',
        ...rule,
        replay: (id) => {
          const name = made.get(id);
          return Promise.resolve(name === undefined ? null : { id, name });
        },
      },
      input: z.strictObject({ name: z.string(), refuse: z.boolean().optional() }),
      output: Thing,
      handle: async ({ name }, context) => {
        const id = await context.claim('evt');
        begun.push(id);
        await maker.meanwhile();
        const { appended } = await decideAndAppend(context.writer, context.author, thing, {
          id,
          decide: (state) => (state.name === null ? [{ type: ThingMade.type, data: { name } }] : []),
        });
        context.notePosition(appended?.position);
        made.set(id, name);
        return { id, name };
      },
    }),
  };
  return maker;
}
