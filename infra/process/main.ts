/** `npm start`: the gateway, configured by the environment only. */
import { runProcess } from './run-process.ts';

await runProcess(process.env);
