import { access } from 'node:fs/promises';

/** True when there is something at `path` that this process may look at; a link that leads nowhere is nothing. */
export const pathExists = async (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
