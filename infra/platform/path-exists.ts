import { access } from 'node:fs/promises';

/** True when `path` exists and this process may access it. A dangling link does not count. */
export const pathExists = async (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
