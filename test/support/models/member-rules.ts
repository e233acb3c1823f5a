/** The rules of memberships in any interleaving, read from the stream of an organisation alone and not from its deciders. */
import type { StoredEvent } from '../../../commands/values/event.ts';
import { type Role, ROLE_SCOPES } from '../../../commands/values/scopes.ts';

type Members = ReadonlyMap<string, Role>;

interface Seen {
  readonly members: Members;
  readonly broken: readonly string[];
}

/** One sentence for each rule that an event breaks. */
export function brokenMemberRules(events: readonly StoredEvent[]): readonly string[] {
  return events.reduce<Seen>(
    ({ members, broken }, event) => {
      const after = membersAfter(members, event);
      return { members: after, broken: [...broken, ...brokenBy(members, after, event)] };
    },
    { members: new Map(), broken: [] },
  ).broken;
}

function membersAfter(members: Members, { type, data }: StoredEvent): Members {
  const userId = String(data['user_id']);
  if (type === 'MemberAdded' || type === 'MemberRoleChanged')
    return new Map(members).set(userId, data['role'] as Role);
  return type === 'MemberRemoved' ? new Map([...members].filter(([id]) => id !== userId)) : members;
}

const hasOwner = (members: Members): boolean => [...members.values()].includes('owner');

function brokenBy(before: Members, after: Members, { type, data, metadata }: StoredEvent): readonly string[] {
  const userId = String(data['user_id']);
  const by = metadata['actor'] as { readonly type: string; readonly id: string };
  const rules: readonly (readonly [string, boolean])[] = [
    ['the organisation lost its last owner', hasOwner(before) && !hasOwner(after)],
    ['a member was added twice', type === 'MemberAdded' && before.has(userId)],
    ['a person without a membership was changed', isChange(type) && !before.has(userId)],
    [
      'a person without the right changed a member',
      isChange(type) &&
        by.type === 'person' &&
        !mayChange(before.get(by.id), before.get(userId), by.id === userId && type === 'MemberRemoved'),
    ],
  ];
  return rules.flatMap(([sentence, isBroken]) => (isBroken ? [`${sentence}: ${type} ${userId}`] : []));
}

const isChange = (type: string): boolean => type === 'MemberRoleChanged' || type === 'MemberRemoved';

function mayChange(own: Role | undefined, other: Role | undefined, isLeaving: boolean): boolean {
  if (isLeaving) return true;
  if (own === undefined || !ROLE_SCOPES[own].includes('members:manage')) return false;
  return other !== 'owner' || own === 'owner';
}
