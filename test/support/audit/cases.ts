/** The table of all cases, for any verifier. Those of altered files begin with the number of the way they are altered. */
import type { AuditCase } from './audit-case.ts';
import { evidenceCases } from './evidence-cases.ts';
import { goodCases } from './good-cases.ts';
import { coverCases, lineCases } from './line-cases.ts';
import { noteCases } from './note-cases.ts';
import { recordCases } from './record-cases.ts';
import { trustCases } from './trust-cases.ts';

export const cases: readonly AuditCase[] = [
  ...goodCases,
  ...lineCases,
  ...coverCases,
  ...noteCases,
  ...recordCases,
  ...trustCases,
  ...evidenceCases,
];
