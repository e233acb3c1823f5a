import { createServer } from 'node:net';

/** The port when nobody has it, else 0, which takes any. */
export const freeOrAny = (port: number | undefined): Promise<number> =>
  new Promise((resolve) => {
    if (port === undefined || port === 0) {
      resolve(0);
      return;
    }
    const server = createServer();
    server.once('error', () => {
      resolve(0);
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(port);
      });
    });
  });
