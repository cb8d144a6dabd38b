/** The compiled form of each script is cached beside it, and the program never depends on it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { TEST_LIMIT_MS } from './limit.ts'

let dir: string
let file: string

const wrapped = (text: string) =>
  `(function (exports, require, module, __filename, __dirname) {\n${text}\n})`
const source = (word: string) =>
  wrapped(`
  const { sep } = require('node:path')
  exports.say = () => [
    ${JSON.stringify(word)}, __filename, __dirname + sep, require('./lib/beside.cjs#name'),
    require('./facts.json').fact, require('a-package'),
  ].join(' ')`)

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'countersign-test-'))
  file = join(dir, 'program.cjs')
  writeFileSync(file, source('one'))
  mkdirSync(join(dir, 'lib'))
  writeFileSync(
    join(dir, 'lib/beside.cjs'),
    wrapped("require('./program.cjs').say; exports.name = 'beside'"),
  )
  writeFileSync(join(dir, 'facts.json'), '{"fact":"of a file"}')
  mkdirSync(join(dir, 'node_modules/a-package'), { recursive: true })
  writeFileSync(join(dir, 'node_modules/a-package/index.js'), "module.exports = 'packaged'")
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

type Run = 'server' | 'command'

/** Loads the program in a process of its own and returns its output. */
function output(build: string, run: Run = 'command', then = ''): string {
  const loader = join(import.meta.dirname, '../src/runtime/program.ts')
  const [folder, id, kind] = [dir, build, run].map((text) => JSON.stringify(text))
  const script = `
    import { loadProgram } from ${JSON.stringify(loader)}
    const { exports, started } = loadProgram(${folder}, ${id}, ${kind})
    console.log(exports.say())
    ${then}`
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: TEST_LIMIT_MS,
  }).trim()
}

const caches = () =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.cache'))
    .toSorted()
const cachesOf = (...runs: string[]) =>
  ['lib/beside.cjs', 'program.cjs'].flatMap((name) => runs.map((run) => `${name}.${run}.cache`))
const whole = (word: string) => `${word} ${file} ${dir}/ beside of a file packaged`

test('scripts run as CommonJS files, and their code caches are stored by build', () => {
  assert.equal(output('a'), whole('one'))
  assert.deepEqual(caches(), cachesOf('a.command'))
  const stored = caches().map((name) => readFileSync(join(dir, name)))
  assert.equal(output('a'), whole('one'))
  assert.deepEqual(
    caches().map((name) => readFileSync(join(dir, name))),
    stored,
    'used as they are',
  )
})

test('a server has caches of its own, and stores them only if it has started', () => {
  output('a')
  assert.equal(output('a', 'server'), whole('one'))
  assert.deepEqual(caches(), cachesOf('a.command'))
  assert.equal(output('a', 'server', 'started()'), whole('one'))
  assert.deepEqual(caches(), cachesOf('a.command', 'a.server'))
})

test('a part of Node that a start does not need is loaded when a member is first read', () => {
  const isLoaded = "process.moduleLoadList.includes('NativeModule v8')"
  writeFileSync(
    file,
    wrapped(`
      const v8 = require('node:v8')
      const before = ${isLoaded}
      const heap = typeof v8.getHeapStatistics().total_heap_size
      const { getHeapStatistics, missing } = require('node:v8')
      const isSame = getHeapStatistics === process.getBuiltinModule('node:v8').getHeapStatistics
      exports.say = () => [before, heap, ${isLoaded}, isSame, missing].join(' ')`),
  )
  assert.equal(output('a'), 'false number true true')
})

test('a build never uses the cache of another of the same length', () => {
  output('a')
  writeFileSync(file, source('two'))
  assert.equal(output('b'), whole('two'))
  assert.deepEqual(caches(), cachesOf('a.command', 'b.command'))
})

test('an invalid cache is written again', () => {
  const path = join(dir, 'program.cjs.a.command.cache')
  for (const content of ['', 'nonsense', Buffer.alloc(4096)]) {
    writeFileSync(path, content)
    assert.equal(output('a'), whole('one'))
    assert(readFileSync(path).length > 0 && !readFileSync(path).equals(Buffer.from(content)))
  }
})

test('the program runs without a writable cache', () => {
  // A folder under the name of the cache: the loader neither reads nor replaces it.
  const path = join(dir, 'program.cjs.a.command.cache')
  mkdirSync(join(path, 'full'), { recursive: true })
  assert.equal(output('a'), whole('one'))
  assert.deepEqual(
    readdirSync(dir).filter((name) => /\.cache\.\d+$/.test(name)),
    [],
    'no half of one is left',
  )
})
