/** Whoever has a shell on the machine, as the author of events. */
import type { Author } from '../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { systemAuthor } from '../../commands/kernel/system-author.ts';

export function adminAuthor(ports: Pick<Ports, 'ids'>, orgId: string): Author {
  const author = systemAuthor(ports, orgId);
  return { ...author, actor: { ...author.actor, id: 'admin-command' } };
}
