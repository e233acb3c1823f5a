/** `admin policy`: shows the policy in force, or puts the policy of a file in force. */
import { readFileSync } from 'node:fs';
import type { DirectoryState } from '../../commands/ports/directory.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { policyInForce } from '../../commands/policy/decide-for-caller.ts';
import { type PolicyPorts, readPolicyDocument, setPolicy } from '../../commands/policy/set-policy.ts';
import { adminAuthor, organisationNamed } from './call-command.ts';

export interface PolicyArguments {
  /** Absent = show. */
  readonly file: string | undefined;
  /** Required only when there are several organisations. */
  readonly org: string | undefined;
}

/** Returns text for the terminal. Throws one sentence, or one line for each error in the file. */
export async function policyCommand(ports: PolicyPorts, { file, org }: PolicyArguments): Promise<string> {
  const { state } = ports.directory;
  const orgId = organisationNamed(state, org);
  if (file === undefined) return JSON.stringify(inForce(state, orgId), null, 2);
  const written = readJson(file);
  try {
    const document = readPolicyDocument(state, orgId, written);
    const { version, changed } = await setPolicy(ports, adminAuthor(ports, orgId), orgId, document);
    const number = String(version);
    return changed
      ? `Policy version ${number} is in force.`
      : `Version ${number} says the same: nothing changed.`;
  } catch (error) {
    throw error instanceof GatewayError ? new Error(linesOf(error, file)) : error;
  }
}

/** In the form of a file that can be put in force again. */
function inForce(state: DirectoryState, orgId: string): object {
  const { version, internal_domains, custom_headers, rules, default: own } = policyInForce(state, orgId);
  return { version, internal_domains, custom_headers, rules, default: own };
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new Error(`There is no file ${file} that can be read.`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON: ${String(error)}`, { cause: error });
  }
}

function linesOf({ message, details }: GatewayError, file: string): string {
  const issues = details['issues'] as readonly { path: string; message: string }[] | undefined;
  if (issues === undefined) return message;
  const lines = issues.map(({ path, message: wrong }) => `  ${path === '' ? 'the file' : path}: ${wrong}`);
  return [`${file} is not a policy; nothing changed.`, ...lines].join('\n');
}
