/** The threat table in SECURITY.md lists the rows attacked here, and names existing tests. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ROOT } from '../e2e/program.ts'
import { ROWS } from './attack.ts'
import { ATTACKS, DRILLS } from './attacks.ts'
import { slow } from './slow.ts'

const [, section = ''] = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8').split('\n## Threats\n')
const threats = section
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| **'))
  .map((line) => {
    const [attack = '', does = '', shown = '', not = ''] = line.slice(2, -2).split(' | ')
    const name = /^\*\*(.+?)\*\*/.exec(attack)?.[1] ?? ''
    return { name, does, not, files: [...shown.matchAll(/`([^`]+)`/g)].map(([, file]) => file!) }
  })

/** Rows that cannot be sent over a socket. */
const ELSEWHERE = [
  'Non-loopback bind',
  'Files',
  'Environment',
  'Files with settings',
  "The service's program, state or key is another's",
  "Another user takes the place of the machine's service",
  'A package or a container gives more rights',
  'A forged or older release',
  'A release with other code than its sources',
  'A backup in other hands',
  'Scheduled backups',
  'Metrics',
  'Webhooks that lead to other places',
  'Names that other people choose',
  'Crash',
  'Keychain gone',
]

describe('the table of threats', () => {
  it('has a row for each attacked row, and for attacks without a socket', () => {
    const names = threats.map(({ name }) => name.trim())
    assert.deepEqual(names.toSorted(), [...ROWS, ...ELSEWHERE].toSorted())
  })

  for (const { name, does, not, files } of threats)
    it(`${name.trim()}: names the defence, its limits, and the tests`, () => {
      assert.notEqual(does.trim(), '')
      assert.notEqual(not.trim(), '')
      assert(files.length > 0)
      assert.deepEqual(
        files.filter((file) => !existsSync(join(ROOT, file))),
        [],
      )
      assert(
        files.some((file) => file.endsWith('.test.ts')),
        'it names no test',
      )
    })

  it('each row is attacked', () => {
    const attacked = new Set([...ATTACKS, ...DRILLS, slow].map(({ row }) => row))
    assert.deepEqual(
      ROWS.filter((row) => !attacked.has(row)),
      [],
    )
  })
})
