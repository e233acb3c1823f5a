/** POST /auth/setup: the first owner and organisation, by the link that a fresh start prints (`contract.md` 18). */
import { z } from 'zod';
import { invalidLink, NewEmail, NewPassword } from '../accounts/credentials.ts';
import { personAuthor } from '../accounts/anonymous-author.ts';
import { foundOrganisation, isUnfounded } from './found-organisation.ts';
import { lineOfText } from '../values/line-of-text.ts';
import type { Ports } from '../ports/ports.ts';
import { definePublicRoute } from '../kernel/public-route.ts';

const Input = z.strictObject({
  token: z.string().min(1).max(200),
  email: NewEmail,
  password: NewPassword,
  name: lineOfText(100),
  org_name: lineOfText(100),
});

const SetUp = z.object({ org_id: z.string(), user_id: z.string() });
type SetUp = z.output<typeof SetUp>;

export const setUpOrganisation = definePublicRoute<z.output<typeof Input>, SetUp>({
  name: 'set_up',
  title: 'Set up the first organisation',
  summary: 'Creates the first owner and organisation with the token of the setup link.',
  description:
    'Works once, with the token of the link that the gateway prints while there is no organisation. Then sign in.',
  rest: { method: 'post', path: '/auth/setup', status: 201 },
  input: Input,
  output: SetUp,
  handle: async (input, context) => {
    const { ports, source } = context;
    const on = { account: `setup ${source}`, source: null };
    // What uses the link up, and any that was printed at another start, is the organisation: a founding that fails does not.
    const link = await ports.attempts.attempt(on, async () =>
      (await isUnfounded(ports)) ? await ports.links.find('setup', input.token) : null,
    );
    if (link === null) {
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink();
    }
    return await foundOrganisation(ports, {
      orgName: input.org_name,
      ownerEmail: input.email,
      ownerName: input.name,
      password: input.password,
      agentName: null,
      authorOf: (founded) => personAuthor(context, founded),
      finish: ({ orgId, userId }) =>
        Promise.resolve({ result: { org_id: orgId, user_id: userId }, position: null }),
    });
  },
});

/** What the browser opens; the token is behind the #, so that no server and no log on the way gets it. */
export const newSetUpLink = async ({ links, server }: Pick<Ports, 'links' | 'server'>): Promise<string> =>
  `${server.baseUrl}/console#setup=${await links.make('setup', null, null)}`;
