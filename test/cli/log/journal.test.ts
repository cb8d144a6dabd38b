/** Lines in the journal have a priority, and lines elsewhere have none. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { journalLine, withPriority } from '../../../src/cli/journal.ts'
import { EXIT } from '../../../src/errors.ts'
import { newLog } from '../../../src/log.ts'
import { PROGRAM, environment } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'

describe('the priority of a line', () => {
  const numbers = { error: 3, warn: 4, info: 6, debug: 7 } as const
  for (const [level, number] of Object.entries(numbers))
    it(`${level} is ${number}`, () => {
      const write = (line: string) =>
        assert.match(journalLine(line), new RegExp(`^<${number}>\\{"time".*\\}\\n$`))
      newLog('debug', write)(level as keyof typeof numbers, 'event', { note: '"level":"error"' })
    })

  it('stands before each line of a text', () => {
    assert.equal(withPriority('error', 'one\ntwo\n'), '<3>one\n<3>two\n')
  })
})

/** Runs a command that fails, with standard error in a file. */
function fail(file: string, streamOf: (id: string) => string): string {
  const fd = openSync(file, 'w')
  const { dev, ino } = fstatSync(fd, { bigint: true })
  const env = environment('/nonexistent', {
    SVC_HTTP_PORT: 'x',
    JOURNAL_STREAM: streamOf(`${dev}:${ino}`),
  })
  const { status } = spawnSync(process.execPath, [PROGRAM, 'serve'], {
    env,
    stdio: ['ignore', 'ignore', fd],
  })
  closeSync(fd)
  assert.equal(status, EXIT.configuration)
  return readFileSync(file, 'utf8')
}

describe('an error of the program', () => {
  it('has the priority of an error in the journal', (t) => {
    assert.match(
      fail(join(freshFolder(t), 'err'), (id) => id),
      /^<3>countersignd: SVC_HTTP_PORT/,
    )
  })

  for (const [name, stream] of [
    ['another file', '1:1'],
    ['no number', 'x'],
  ] as const)
    it(`has none if JOURNAL_STREAM names ${name}`, (t) => {
      assert.match(
        fail(join(freshFolder(t), 'err'), () => stream),
        /^countersignd: SVC_HTTP_PORT/,
      )
    })
})
