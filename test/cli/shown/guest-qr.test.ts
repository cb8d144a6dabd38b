/** `countersignd guest qr`: decoded by zbar, as a phone would from the screen. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { EXIT } from '../../../src/errors.ts'
import { startDaemon } from '../../daemon.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { type Terminal, terminal } from '../terminal.ts'

const decoder = spawnSync('zbarimg', ['--version'])
const withDecoder = { skip: decoder.status === 0 ? false : 'needs zbarimg (zbar-tools)' }

/** The edge of a module, in pixels of a screen. */
const SCALE = 6

/** Returns the text of the QR code in an image. */
function decoded(file: string): string {
  const { stdout, stderr } = spawnSync('zbarimg', ['--quiet', '--raw', file], { encoding: 'utf8' })
  assert.notEqual(stdout, '', stderr)
  return stdout.trimEnd()
}

/** Writes what a terminal shows as an image: a block is light, and no block is dark. */
function photograph(file: string, lines: readonly string[]): void {
  const halves = lines.flatMap((line) => [
    Array.from(line, (block) => block === '█' || block === '▀'),
    Array.from(line, (block) => block === '█' || block === '▄'),
  ])
  const wide = (row: readonly boolean[]) =>
    row.flatMap((isLight) => Array.from({ length: SCALE }, () => (isLight ? 255 : 0)))
  const pixels = halves.flatMap((row) => Array.from({ length: SCALE }, () => wide(row)))
  const [first = []] = pixels
  const header = `P5 ${first.length} ${pixels.length} 255\n`
  writeFileSync(file, Buffer.concat([Buffer.from(header), Buffer.from(pixels.flat())]))
}

async function madeGuest(on: Terminal): Promise<string> {
  return (await on(['guest', 'create', '--label', 'Mum'])).out.trim()
}

/** White on black, which does not depend on the colours of the terminal, and its end. */
const [ON, OFF] = ['\u001b[38;5;231;48;5;16m', '\u001b[39;49m'] as const

/** Returns the blocks of a line in white on black. */
function blocksIn(line: string): string {
  assert(line.startsWith(ON) && line.endsWith(OFF), 'a line in white on black')
  return line.slice(ON.length, -OFF.length)
}

const setUp = (t: TestContext) => ({ on: terminal(freshFolder(t)), dir: freshFolder(t) })

test('at a terminal, the link comes out, on light and dark backgrounds', withDecoder, async (t) => {
  const { on, dir } = setUp(t)
  const link = await madeGuest(on)
  // The environment does not disable the colours, because without them the code may be inverted.
  const { code, out, err } = await on(['guest', 'qr', 'mum'], {
    columns: 80,
    env: { NO_COLOR: '1' },
  })
  assert.equal(code, EXIT.ok)
  assert.equal(err, 'Only this machine can open the link. For others: countersignd publish\n')
  const lines = out.trimEnd().split('\n')
  const blocks = lines.map(blocksIn)
  for (const line of blocks) assert.match(line, /^[█▀▄ ]{1,80}$/)
  assert(blocks.length <= 24, 'it fits a terminal of 24 lines')
  for (const edge of [blocks[0], blocks[1]]) assert.match(edge ?? '', /^█+$/)
  for (const line of blocks.slice(0, -1)) assert.match(line, /^█{4}.*█{4}$/)
  photograph(join(dir, 'screen.pgm'), blocks)
  assert.equal(decoded(join(dir, 'screen.pgm')), link)
})

test('a daemon gives the same code, in a pipe without colours', withDecoder, async (t) => {
  const daemon = await startDaemon({ SVC_STATE_DIR: freshFolder(t) })
  t.after(() => daemon.close())
  const on = terminal(daemon.stateDir)
  const link = await madeGuest(on)
  const { out } = await on(['guest', 'qr', 'Mum'])
  assert.match(out, /^[█▀▄ \n]+$/)
  const file = join(freshFolder(t), 'pipe.pgm')
  photograph(file, out.trimEnd().split('\n'))
  assert.equal(decoded(file), link)
  assert(!daemon.log.join('').includes(link.split('#')[1]!), 'the secret is not in the log')
})

test('--out writes an image that only the user can read', withDecoder, async (t) => {
  const { on, dir } = setUp(t)
  const link = await madeGuest(on)
  for (const format of ['gif', 'svg']) {
    const file = join(dir, `mum.${format}`)
    const { code, out } = await on(['guest', 'qr', 'Mum', '--out', file])
    assert.deepEqual([code, out], [EXIT.ok, `${file}\n`])
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal((await on(['guest', 'qr', 'Mum', '--out', file])).code, EXIT.failed, 'it exists')
  }
  assert.equal(decoded(join(dir, 'mum.gif')), link)
})

test('what has no QR code, or does not fit', async (t) => {
  const { on, dir } = setUp(t)
  await madeGuest(on)
  const png = join(dir, 'mum.png')
  const wrong = await on(['guest', 'qr', 'Mum', '--out', png])
  assert.deepEqual([wrong.code, existsSync(png)], [EXIT.usage, false])
  assert.match(wrong.err, /must end in \.svg or \.gif/)
  assert.match((await on(['guest', 'qr', 'Mum'], { columns: 40 })).err, /too narrow.*45 columns/)
  await on(['guest', 'revoke', 'Mum'])
  const { code, out, err } = await on(['guest', 'qr', 'Mum'])
  assert.deepEqual([code, out], [EXIT.failed, ''])
  assert.match(err, /revoked/)
})
