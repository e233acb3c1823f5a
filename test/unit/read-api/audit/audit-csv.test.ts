import { expect } from 'chai';
import { csvCell } from '../../../../read-api/audit/audit-csv.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const CELLS: readonly (readonly [string | number | null | undefined, string])[] = [
  [null, ''],
  [undefined, ''],
  [0, '0'],
  ['plain', 'plain'],
  ['a,b', 'a,b'],
  ['a;=1+1', 'a;=1+1'],
  ['say "yes"', 'say ""yes""'],
  ['two\r\nlines', 'two\r\nlines'],
  ['a\nb', 'a\nb'],
  ['=1+1', "'=1+1"],
  ['=HYPERLINK("http://x","y")', `'=HYPERLINK(""http://x"",""y"")`],
  ['+49 30', "'+49 30"],
  ['-2', "'-2"],
  [-2, "'-2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1+1', "'＝1+1"],
  ['＋1', "'＋1"],
  ['－2', "'－2"],
  ['＠SUM(A1)', "'＠SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', "'\r=1"],
  ['\n=1', "'\n=1"],
  ['\0=1', "'\0=1"],
  ['a=1', 'a=1'],
  ['{"a":"=1"}', '{""a"":""=1""}'],
];

describe('a cell of a CSV', () => {
  it(`is never taken for a formula, and keeps its text ${verifies('contract:12:csv')}`, () => {
    for (const [value, cell] of CELLS) expect(csvCell(value), JSON.stringify(value)).to.equal(`"${cell}"`);
  });
});
