import { open } from 'node:fs/promises';

/** Writes a folder's own entries through to the disk: a new name in it is safe only then. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
