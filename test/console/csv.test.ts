/** Tests the files that the console saves for spreadsheets. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { csvOf } from '../../src/console/data/csv.ts'

const CELLS: readonly (readonly [cell: string, saved: string])[] = [
  ['Ada', 'Ada'],
  ['a, b', '"a, b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+49 30 1', "'+49 30 1"],
  ['-2', "'-2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1+1', '"\'\t\'=1+1"'],
  ['\r=1+1', '"\'\r\'=1+1"'],
  // Where the list separator is a semicolon, a cell begins after it, also in quotation marks.
  ['Ada;=1+1', '"Ada;\'=1+1"'],
  ['Ada; @SUM(A1);-2', '"Ada; \'@SUM(A1);\'-2"'],
  ['Ada\n=1+1', '"Ada\n\'=1+1"'],
  ['Ada\t+1', '"Ada\t\'+1"'],
  ['a-b=c; d', '"a-b=c; d"'],
  ['=HYPERLINK("x";"y")', '"\'=HYPERLINK(""x"";""y"")"'],
]

for (const [cell, saved] of CELLS)
  it(`${JSON.stringify(cell)} is saved as ${JSON.stringify(saved)}`, () => {
    const rows = [
      ['head', 'end'],
      [cell, 'end'],
    ]
    assert.equal(csvOf(rows), `\u{feff}head,end\r\n${saved},end\r\n`)
  })
