/**
 * A submission server in its own process that accepts everything. It says its port to its parent, and then
 * `accepted` at each final dot.
 */
import { ScriptedSmtp } from '../../test/support/servers/scripted-smtp.ts';

const server = await ScriptedSmtp.start();
server.script = {
  dot: () => {
    process.send?.('accepted');
    return undefined;
  },
};
process.on('disconnect', () => process.exit());
process.on('SIGTERM', () => process.exit());
process.send?.(server.port);
