/** One mail server shared by several gateways: each borrow is a guarded session, every write is counted. */
import type { MailPort, MailSession } from '../../../commands/ports/mail-port.ts';
import { BreakingMailbox } from './breaking-mailbox.ts';

const WRITES: ReadonlySet<string> = new Set([
  'moveMessages', 'copyMessages', 'setFlags', 'expungeMessages', 'append', 'removeOwn',
]); // prettier-ignore

/** A command that is about to change something: its name, folder and messages. */
export interface Write {
  readonly command: string;
  readonly path: string;
  readonly uids: readonly number[];
}

export class SharedMailServer {
  readonly mailbox = new BreakingMailbox();
  /** The error of every borrow instead of a connection; null = the server answers. */
  failure: Error | null = null;
  /** Called before each command, to delay it. */
  pause: () => Promise<void> = () => Promise.resolve();
  /** Called when a command that changes something arrives, before it runs. */
  onWrite: (write: Write) => Promise<void> = () => Promise.resolve();

  /** A port to this server; only mailbox methods change. `assertUsable` throws for a paused or gone one. */
  portFor(port: MailPort, assertUsable: () => void): MailPort {
    return {
      query: (...query) => port.query(...query),
      withThreadIds: (...filter) => port.withThreadIds(...filter),
      testImap: (...test) => port.testImap(...test),
      assertReachable: (settings) => port.assertReachable(settings),
      disconnect: () => Promise.resolve(),
      withMailbox: async (_mailboxId, _lane, work) => {
        assertUsable();
        await this.pause();
        if (this.failure) throw this.failure;
        return await work(this.#session());
      },
    };
  }

  #session(): MailSession {
    let assertMayWrite: () => void = () => undefined;
    const call = async (name: string, method: Method, args: readonly unknown[]): Promise<unknown> => {
      await this.pause();
      if (WRITES.has(name)) {
        assertMayWrite();
        const [folder, , uids] = args as [{ path: string }, unknown, readonly number[]];
        await this.onWrite({ command: name, path: folder.path, uids });
      }
      return await method.apply(this.mailbox, [...args]);
    };
    return new Proxy<MailSession>(this.mailbox, {
      get: (mailbox, name) => {
        if (name === 'guardWrites')
          return (guard: () => void) => {
            assertMayWrite = guard;
          };
        const found = Reflect.get(mailbox, name, mailbox) as unknown;
        if (typeof found !== 'function') return found;
        return (...args: readonly unknown[]) => call(String(name), found as Method, args);
      },
    });
  }
}

type Method = (...args: readonly unknown[]) => unknown;
