/** The compiled form of a program is cached beside it, and the program never depends on it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { TEST_LIMIT_MS } from './limit.ts'

let dir: string
let file: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'countersign-test-'))
  file = join(dir, 'program.cjs')
  writeFileSync(file, source('one'))
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

const source = (word: string) => `(function (exports, require, module, __filename, __dirname) {
  exports.say = () => [${JSON.stringify(word)}, __filename, require('./beside.cjs')].join(' ')
})`

/** Loads the program in a process of its own and returns its output. */
function output(build: string): string {
  writeFileSync(join(dir, 'beside.cjs'), "module.exports = 'beside'\n")
  const loader = join(import.meta.dirname, '../src/runtime/program.ts')
  const script = `
    import { loadProgram } from ${JSON.stringify(loader)}
    console.log(loadProgram(${JSON.stringify(file)}, ${JSON.stringify(build)}).say())`
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: TEST_LIMIT_MS,
  }).trim()
}

const caches = () => readdirSync(dir).filter((name) => name.endsWith('.cache'))
const whole = (word: string) => `${word} ${file} beside`

test('the program runs as a CommonJS file, and its compile cache is stored by build', () => {
  assert.equal(output('a'), whole('one'))
  assert.deepEqual(caches(), ['program.cjs.a.cache'])
  const stored = readFileSync(join(dir, 'program.cjs.a.cache'))
  assert.equal(output('a'), whole('one'))
  assert.deepEqual(readFileSync(join(dir, 'program.cjs.a.cache')), stored, 'taken as it is')
})

test('a build never uses the cache of another of the same length', () => {
  output('a')
  writeFileSync(file, source('two'))
  assert.equal(output('b'), whole('two'))
  assert.deepEqual(caches().toSorted(), ['program.cjs.a.cache', 'program.cjs.b.cache'])
})

test('an invalid cache is written again', () => {
  const path = join(dir, 'program.cjs.a.cache')
  for (const content of ['', 'nonsense', Buffer.alloc(4096)]) {
    writeFileSync(path, content)
    assert.equal(output('a'), whole('one'))
    assert(readFileSync(path).length > 0 && !readFileSync(path).equals(Buffer.from(content)))
  }
})

test('the program runs without a writable cache', () => {
  // A folder under the name of the cache: the loader neither reads nor replaces it.
  const path = join(dir, 'program.cjs.a.cache')
  rmSync(path, { force: true, recursive: true })
  execFileSync('mkdir', ['-p', join(path, 'full')])
  assert.equal(output('a'), whole('one'))
  assert.deepEqual(
    readdirSync(dir).filter((name) => /\.cache\.\d+$/.test(name)),
    [],
    'no half of one is left',
  )
})
