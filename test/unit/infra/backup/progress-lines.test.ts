import { expect } from 'chai';
import { progressLines } from '../../../../infra/backup/table-copy.ts';

describe('progressLines', () => {
  it('reports each table every two seconds, and once at its end', () => {
    const lines: string[] = [];
    let nowMs = 0;
    const report = progressLines(
      (line) => lines.push(line),
      () => nowMs,
    );
    for (let rows = 1_000; rows <= 5_000; rows += 1_000) {
      nowMs += 1_000;
      report({ table: 'log.event', rows, bytes: rows * 1_234, isDone: false });
    }
    report({ table: 'log.event', rows: 5_000, bytes: 6_170_000, isDone: true });
    report({ table: 'vault.password', rows: 0, bytes: 0, isDone: true });
    expect(lines).to.deep.equal([
      'log.event: 2,000 rows, 2.5 MB …',
      'log.event: 4,000 rows, 4.9 MB …',
      'log.event: 5,000 rows, 6.2 MB',
      'vault.password: 0 rows, 0.0 MB',
    ]);
  });
});
