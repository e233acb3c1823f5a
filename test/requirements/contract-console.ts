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
} as const satisfies RequirementTable;
