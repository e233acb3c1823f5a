import type { RequirementTable } from './requirement.ts';

/** The approver's page: what section 18 and the quality rules say of it. */
export const contractConsole = {
  'contract:18:console-files': [
    'transport',
    'The files of /console need no bearer; nothing else is below it.',
  ],
  'contract:18:console-policy': [
    'transport',
    'The console runs under a strict CSP: own scripts and styles only, no frames around it, Trusted Types.',
  ],
  'contract:18:console-walk': [
    'decide_approval',
    'In the console a person signs in, sees what waits with a true preview, and approves or rejects with a reason.',
  ],
  'contract:18:console-session': [
    'decide_approval',
    'The session is in memory and sessionStorage, never in a cookie; when it ends, the sign-in leads back.',
  ],
} as const satisfies RequirementTable;
