/** The event node in its own process. Prints its address, then its resident memory in bytes per request. */
import { startBenchNode } from './start-node.ts';

const node = await startBenchNode(process.argv[2] ?? '');
process.on('message', () => process.send?.(process.memoryUsage().rss));
process.on('disconnect', () => process.exit());
process.on('SIGTERM', () => {
  void node.stop().then(() => process.exit());
});
process.send?.(node.url);
