/** The event node in a process of its own: says its address, then its resident memory in bytes whenever it is asked. */
import { startBenchNode } from './start-node.ts';

const node = await startBenchNode(process.argv[2] ?? '');
process.on('message', () => process.send?.(process.memoryUsage().rss));
process.on('disconnect', () => process.exit());
process.on('SIGTERM', () => {
  void node.stop().then(() => process.exit());
});
process.send?.(node.url);
