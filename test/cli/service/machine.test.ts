/** The operations on a real machine, with a folder in place of its root. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { thisMachine } from '../../../src/cli/service/machine.ts'
import { hasModes } from '../../../src/keychain/private-file.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'

describe('the machine', () => {
  it('writes a complete file, with its mode and parent folders, over an older one', (t) => {
    const root = freshFolder(t)
    const machine = thisMachine({}, root)
    machine.write('/etc/countersign/key', Buffer.from('one'), 0o600)
    machine.write('/etc/countersign/key', Buffer.from('two'), 0o600)
    const path = join(root, 'etc/countersign/key')
    assert.equal(readFileSync(path, 'utf8'), 'two')
    if (hasModes) assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(join(root, 'etc/countersign')), ['key'])
  })

  it('replaces a link and keeps its target', (t) => {
    const root = freshFolder(t)
    const target = join(root, 'precious')
    writeFileSync(target, 'kept')
    symlinkSync(target, join(root, 'unit'))
    thisMachine({}, root).write('/unit', Buffer.from('new'), 0o644)
    assert.equal(readFileSync(target, 'utf8'), 'kept')
    assert.equal(readFileSync(join(root, 'unit'), 'utf8'), 'new')
  })

  it('copies a program as executable, with any mode of the original', (t) => {
    const root = freshFolder(t)
    const from = join(root, 'download')
    writeFileSync(from, '#!/bin/sh\n')
    chmodSync(from, 0o700)
    thisMachine({}, root).copy(from, '/bin/countersignd', 0o755)
    if (hasModes) assert.equal(statSync(join(root, 'bin/countersignd')).mode & 0o777, 0o755)
  })

  it('leaves no partial file after a failed write', (t) => {
    const root = freshFolder(t)
    mkdirSync(join(root, 'bin/countersignd/inside'), { recursive: true })
    const machine = thisMachine({}, root)
    assert.throws(() => machine.write('/bin/countersignd', Buffer.from('x'), 0o755))
    assert.deepEqual(readdirSync(join(root, 'bin')), ['countersignd'])
  })

  it('follows no link when reading', { skip: !hasModes && 'Windows has no flag for that' }, (t) => {
    const root = freshFolder(t)
    writeFileSync(join(root, 'shadow'), 'secret')
    symlinkSync(join(root, 'shadow'), join(root, 'key'))
    assert.throws(() => thisMachine({}, root).read('/key'), { code: 'ELOOP' })
  })

  it('recognises a file, a folder, a link, and a missing path', (t) => {
    const root = freshFolder(t)
    const machine = thisMachine({}, root)
    writeFileSync(join(root, 'file'), '')
    symlinkSync('nowhere', join(root, 'link'))
    assert.equal(machine.lstat('/file')?.isFolder, false)
    assert.equal(machine.lstat('/')?.isFolder, true)
    assert.equal(machine.lstat('/link')?.isLink, true)
    assert.equal(machine.lstat('/file/below'), null)
    assert.equal(machine.lstat('/nothing'), null)
    assert.equal(machine.read('/nothing'), null)
    assert.deepEqual(machine.list('/nothing'), [])
  })

  it('removes a folder only if it is empty', (t) => {
    const root = freshFolder(t)
    const machine = thisMachine({}, root)
    machine.write('/etc/countersign/mine', Buffer.from('x'), 0o600)
    assert.equal(machine.removeFolder('/etc/countersign'), false)
    machine.remove('/etc/countersign/mine')
    assert.equal(machine.removeFolder('/etc/countersign'), true)
    assert.equal(machine.removeFolder('/etc/countersign'), true)
  })

  it('runs a program without a shell and returns its output', async () => {
    const machine = thisMachine({})
    const script =
      'console.log(process.argv[1], process.env.GIVEN); console.error("err"); process.exit(3)'
    const ran = await machine.run([process.execPath, '-e', script, '$HOME; ls'], { GIVEN: 'yes' })
    assert.deepEqual(ran, { code: 3, out: '$HOME; ls yes\n', err: 'err\n' })
  })

  it(
    'looks for programs in no relative folder',
    { skip: !hasModes && 'on Windows programs are named by their path' },
    async (t) => {
      const root = freshFolder(t)
      writeFileSync(join(root, 'planted'), '#!/bin/sh\n', { mode: 0o755 })
      const relative = join('..', ...Array<string>(20).fill('..'), root)
      const ran = await thisMachine({}).run(['planted'], { PATH: relative })
      assert.equal(ran.code, null)
      assert.equal((await thisMachine({}).run(['planted'], { PATH: root })).code, 0)
    },
  )

  it('reports a missing program', async () => {
    const ran = await thisMachine({}).run(['no-such-program-of-ours'])
    assert.equal(ran.code, null)
    assert.match(ran.err, /ENOENT/)
  })
})
