/** Where the passphrase of a backup comes from. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { passphraseOf } from '../../../src/cli/backup/passphrase.ts'
import { EXIT, StartError } from '../../../src/errors.ts'
import { UsageError } from '../../../src/cli/command.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { streams } from '../terminal.ts'

const PASSPHRASE = 'fünf Wörter, die niemand rät'

const given = (options: Record<string, string>, input = '', isNew = true) =>
  passphraseOf({ options, io: { ...streams({ input }).io, env: {} } }, isNew)

describe('the passphrase', () => {
  it('comes from an open file, which is then closed', async (t) => {
    const file = join(freshFolder(t), 'passphrase')
    writeFileSync(file, `${PASSPHRASE}\r\n`)
    const fd = openSync(file, 'r')
    assert.equal(await given({ 'passphrase-fd': String(fd) }), PASSPHRASE)
    assert.throws(() => fstatSync(fd), { code: 'EBADF' })
  })

  it('comes from standard input as descriptor 0', async () => {
    assert.equal(await given({ 'passphrase-fd': '0' }, `${PASSPHRASE}\n`), PASSPHRASE)
    assert.equal(await given({ 'passphrase-fd': '0' }, PASSPHRASE), PASSPHRASE)
  })

  const usage: Record<string, string> = {
    'standard output': '1',
    'standard error': '2',
    'no number': 'x',
    'a negative number': '-1',
    'a number with a leading zero': '03',
  }
  for (const [name, fd] of Object.entries(usage))
    it(`does not come from ${name}`, () =>
      assert.rejects(given({ 'passphrase-fd': fd }), UsageError))

  it('does not come from a folder', async (t) => {
    const fd = openSync(freshFolder(t), 'r')
    t.after(() => closeSync(fd))
    await assert.rejects(given({ 'passphrase-fd': String(fd) }), UsageError)
  })

  it('names both ways to pass it if there is no terminal', () =>
    assert.rejects(given({}), (error: Error) => {
      assert.ok(error instanceof UsageError)
      assert.match(error.message, /--passphrase-file .*--passphrase-fd/)
      return true
    }))

  it(
    'does not come from a pipe of this process, which may never end',
    { skip: process.platform === 'win32' && 'Windows has no FIFOs' },
    async (t) => {
      const path = join(freshFolder(t), 'fifo')
      execFileSync('mkfifo', [path])
      const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      t.after(() => closeSync(fd))
      const other = openSync(path, constants.O_WRONLY)
      t.after(() => closeSync(other))
      await assert.rejects(given({ 'passphrase-fd': String(fd) }), UsageError)
    },
  )

  it('does not come from two places', () =>
    assert.rejects(given({ 'passphrase-fd': '0', 'passphrase-file': '/x' }), UsageError))

  const faults: [name: string, text: string, says: RegExp][] = [
    ['two lines', `${PASSPHRASE}\nmore\n`, /descriptor 0 must contain only the passphrase/],
    ['nothing', '\n', /must contain only the passphrase/],
    ['a short text', 'short', /has 5 characters/],
  ]
  for (const [name, text, says] of faults)
    it(`is not ${name}`, () =>
      assert.rejects(given({ 'passphrase-fd': '0' }, text), (error: Error) => {
        assert.match(error.message, says)
        assert.doesNotMatch(error.message, /short|niemand/)
        return error instanceof StartError
      }))

  it('is not checked for its length by a restore', async () => {
    assert.equal(await given({ 'passphrase-fd': '0' }, 'short', false), 'short')
  })

  it('a descriptor that is not open is named', () =>
    assert.rejects(given({ 'passphrase-fd': '9999' }), {
      exit: EXIT.configuration,
      message: /descriptor 9999 cannot be read \(EBADF\).*3< FILE/,
    }))

  it('is read from a pipe that a shell opened', () => {
    const script = `import { passphraseOf } from '${join(import.meta.dirname, '../../../src/cli/backup/passphrase.ts')}'
process.stdout.write(await passphraseOf({ options: { 'passphrase-fd': '3' }, io: process }, true))`
    const out = execFileSync(
      'bash',
      [
        '-c',
        '"$0" --input-type=module -e "$1" 3< <(printf "%s\\n" "$2")',
        process.execPath,
        script,
        PASSPHRASE,
      ],
      { encoding: 'utf8' },
    )
    assert.equal(out, PASSPHRASE)
  })
})
