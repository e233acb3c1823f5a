/** `npm start`: the gateway, configured by the environment alone. */
import { runProcess } from './run-process.ts';

await runProcess(process.env);
