/** An operation rig with approvals: rules, signed-in approvers, a clock that can be set. */
import type { Caller } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import type { PolicyEntry } from '../../../commands/ports/directory.ts';
import { ROLE_SCOPES, type Role, type Scope } from '../../../commands/values/scopes.ts';
import { loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import {
  operation,
  type OperationReply,
  type OperationState,
} from '../../../commands/operations/operation.ts';
import type { Approval } from '../../../commands/operations/approval-payload.ts';
import { WORLD_NOW } from './access-world.ts';
import { type OperationRig, operationRig, type RigOptions } from './operation-rig.ts';
import { policyEntry } from '../samples/policy-entry.ts';
import { seatMember } from './people.ts';

export interface ApprovalRig extends OperationRig {
  /** Sets the clock to this many seconds after the beginning. */
  at(seconds: number): void;
  /** Sets the organisation's rules as a new version. */
  rules(...rules: readonly unknown[]): void;
  /** A person of this role, signed in with a recent step-up. */
  person(id: string, role: Role): Caller;
  /** Requests an action on messages. */
  ask(messageIds: readonly string[], type: string, mode?: string): Promise<OperationReply>;
  approvalAs(caller: Caller, capability: Capability, input: object, key?: string): Promise<Approval>;
  stateOf(reply: OperationReply): Promise<OperationState>;
  typesOf(reply: OperationReply): Promise<readonly string[]>;
}

/** Requires one approver for archive and expunge; nothing is committed automatically. */
export const NEEDS_APPROVAL = {
  id: 'needs_approval',
  when: { actions: ['archive', 'expunge'] },
  then: { decision: 'require', auto_commit: false },
};

export function approvalRig(options: RigOptions = {}): ApprovalRig {
  const rig = operationRig(options);
  const { ports } = rig;
  const { state } = ports.directory;
  const policies = state.policies as Map<string, PolicyEntry>;
  let version = 0;
  const rules: ApprovalRig['rules'] = (...all) => {
    version += 1;
    const entry = policyEntry(all, { version });
    policies.set(entry.id, entry);
  };
  rules(NEEDS_APPROVAL);
  return {
    ...rig,
    at: (seconds) => {
      ports.clock.now = () => new Date(WORLD_NOW.getTime() + seconds * 1_000);
    },
    rules,
    person: (id, role) => {
      seatMember(state, 'org_1', id, role);
      const orgScopes = new Set<Scope>(ROLE_SCOPES[role]);
      return {
        ...rig.caller,
        actor: 'person',
        principal: { kind: 'user', id, name: id },
        onBehalfOf: null,
        session: { id: `ses_${id}`, steppedUpUntil: '2027-01-01T00:00:00.000Z' },
        role,
        orgScopes,
        mailboxes: new Map(),
        scopes: orgScopes,
      };
    },
    ask: (messageIds, type, mode) =>
      rig.reply(actOnEmail, {
        operation: { type: 'message_actions', select: { message_ids: messageIds }, actions: [{ type }] },
        ...(mode === undefined ? {} : { authorization: { mode } }),
      }),
    approvalAs: async (caller, capability, input, key) =>
      (await rig.invokeAs(caller, capability, input, key)).output as Approval,
    stateOf: async ({ operation_id: id = '' }) => (await loadAggregate(ports.events, operation, id)).state,
    typesOf: async ({ operation_id: id = '' }) =>
      (await rig.events.readStream(`operation-${id}`)).map(({ type }) => type),
  };
}
