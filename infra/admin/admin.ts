/**
 * `npm run admin -- …`: commands for the operator on the machine itself, with or without a running gateway.
 * Each command loads its module when it runs, so help and a mistyped command answer without loading the
 * gateway.
 */
import { parseArgs } from 'node:util';
import { type Config, loadConfig, sentenceOf } from '../process/config.ts';
import { createJsonLog } from '../observability/json-log.ts';
import type { CorePorts } from '../process/composition.ts';
import { stopSignal } from './run-command.ts';

const USAGE = `Commands:
  npm run admin -- bootstrap --org NAME --email ADDR [--name NAME] [--password-file F]
      Sets up the first organisation, its owner, an agent and their tokens; prints one JSON. Without a password
      file the owner sets a password with the password_link in it, once, within 24 hours.
  npm run admin -- call CAPABILITY ['{"json": "input"}'] --as usr_…|agt_…
      Runs one capability as that person or agent, with all the scopes it may have.
  npm run admin -- list
      Names the capabilities.
  npm run admin -- policy [FILE] [--org org_…]
      Shows the policy in force as JSON, or puts that of the file in force.
  npm run admin -- person add ADDR --role owner|admin|approver|member|auditor [--name NAME] [--org org_…]
      Adds a person and prints a link, valid once, that sets the password.
  npm run admin -- person reset ADDR
      Prints such a link for a person who is here already.
  npm run admin -- person erase ADDR
      Erases that person's account: memberships, sessions, tokens, agents, and the key of what was sealed.
  npm run admin -- hold list
      Names the legal holds.
  npm run admin -- hold release hld_… --reason TEXT
      Releases a legal hold as the second, where no second person of the organisation can.
  npm run admin -- audit new-epoch --reason TEXT
      Lets audit trails be signed again that are not what was signed before, and after a restore by other means.
  npm run admin -- audit rotate-key --trail org_…|system
      Makes a new key that signs the trail; the old one signs too for 30 days.
  npm run admin -- audit revoke-key --trail org_…|system --key VKEY --since TIME --reason TEXT
      Ends a key that may be in wrong hands since that time (RFC 3339).
  npm run admin -- resolve opn_… done|not_done --reason TEXT
      Settles an unknown outcome, on your word.
  npm run admin -- parked
      Lists the events that a read model could not apply.
  npm run admin -- retry-parked [MODEL]
      Applies them again, by rebuilding their read model.`;

type Option =
  'org' | 'email' | 'name' | 'password-file' | 'as' | 'reason' | 'role' | 'trail' | 'key' | 'since';

interface Arguments {
  readonly config: Config;
  /** The arguments after the command. */
  readonly rest: readonly string[];
  readonly values: Readonly<Partial<Record<Option, string>>>;
}

/** Returns null when the arguments do not fit the command. */
type Command = (given: Arguments) => Promise<string> | null;

/** The options of each command, as the usage names them; the others have none. */
const OPTIONS: Readonly<Record<string, readonly Option[]>> = {
  bootstrap: ['org', 'email', 'name', 'password-file'],
  call: ['as'],
  policy: ['org'],
  person: ['role', 'name', 'org'],
  hold: ['reason'],
  audit: ['reason', 'trail', 'key', 'since'],
  resolve: ['reason'],
};

const COMMANDS: Readonly<Record<string, Command>> = {
  bootstrap: ({ config, values }) => {
    const { org, email, name, 'password-file': passwordFile } = values;
    if (org === undefined || email === undefined) return null;
    const given = { org, email, name: name ?? email, passwordFile };
    return withCore(
      config,
      async (ports) => (await import('./bootstrap-command.ts')).bootstrapCommand(ports, given),
      { mayMake: true },
    );
  },
  call: ({ config, rest: [capability, json = '{}'], values: { as } }) =>
    capability === undefined || as === undefined
      ? null
      : withCore(config, async (ports) =>
          (await import('./call-command.ts')).callCommand(ports, { capability, json, as }),
        ),
  list: async () => {
    const { capabilities } = await import('../../read-api/capabilities.ts');
    return capabilities.map(({ name, summary }) => `${name.padEnd(32)}${summary}`).join('\n');
  },
  policy: ({ config, rest: [file, ...others], values: { org } }) =>
    others.length > 0
      ? null
      : withCore(config, async (ports) =>
          (await import('./policy-command.ts')).policyCommand(ports, { file, org }),
        ),
  person: ({ config, rest: [verb, email, ...others], values: { role, name, org } }) =>
    verb === undefined || email === undefined || others.length > 0
      ? null
      : withCore(config, async (ports) =>
          (await import('./person-command.ts')).personCommand(ports, { verb, email, role, name, org }),
        ),
  hold: ({ config, rest: [verb, id, ...others], values: { reason } }) =>
    verb === undefined || others.length > 0
      ? null
      : withCore(config, async (ports) =>
          (await import('./hold-command.ts')).holdCommand(ports, { verb, id, reason }),
        ),
  audit: ({ config, rest: [verb, ...others], values: { reason, trail, key, since } }) =>
    verb === undefined || others.length > 0
      ? null
      : withCore(config, async ({ seals }) =>
          (await import('./audit-command.ts')).auditCommand(seals, { verb, reason, trail, key, since }),
        ),
  resolve: ({ config, rest: [operationId, word, ...others], values: { reason } }) =>
    operationId === undefined || others.length > 0
      ? null
      : withCore(config, async (ports) =>
          (await import('./resolve-command.ts')).resolveCommand(ports, { operationId, word, reason }),
        ),
  parked: ({ config }) => parkedCommand(config, null),
  'retry-parked': ({ config, rest }) => parkedCommand(config, rest),
};

async function withCore(
  config: Config,
  work: (ports: CorePorts) => Promise<string>,
  may: { readonly mayMake?: boolean } = {},
): Promise<string> {
  const { openForAdmin } = await import('./open-for-command.ts');
  await using core = await openForAdmin(config, createJsonLog('error'), may);
  return await work(core.ports);
}

/** Returns the text for standard output. Throws what went wrong. */
async function main(args: readonly string[]): Promise<string> {
  const { values, positionals } = readArguments(args);
  const { help = false, ...given } = values;
  const [name = 'help', ...rest] = positionals;
  if (help || name === 'help') return USAGE;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new Error(`There is no command ${name}.\n\n${USAGE}`);
  const known: readonly string[] = OPTIONS[name] ?? [];
  const fits = Object.keys(given).every((option) => known.includes(option));
  const done = fits ? command({ config: loadConfig(process.env), rest, values: given }) : null;
  if (done === null) throw new Error(`The command ${name} takes other arguments.\n\n${USAGE}`);
  return await done;
}

function readArguments(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    org: text,
    email: text,
    name: text,
    'password-file': text,
    as: text,
    reason: text,
    role: text,
    trail: text,
    key: text,
    since: text,
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    // The first sentence names the error. The next one is about arguments that no command here has.
    const [wrong = ''] = sentenceOf(error).split(/(?<=['"])\. /);
    throw new Error(`${wrong.replace(/\.$/, '')}.\n\n${USAGE}`, { cause: error });
  }
}

/** Lists the parked events, or retries those of the named models (none named = all). */
async function parkedCommand(config: Config, retry: readonly string[] | null): Promise<string> {
  const { openForRebuild } = await import('./open-for-command.ts');
  await using parts = await openForRebuild(config, createJsonLog('error'));
  const { listParked, retryParked } = await import('./parked-events.ts');
  if (retry === null) return await listParked(parts.sql);
  const { modelsNamed } = await import('./rebuild-command.ts');
  return await retryParked(parts, modelsNamed(retry, ['all']), stopSignal());
}

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${sentenceOf(error)}\n`);
  process.exitCode = 1;
}
