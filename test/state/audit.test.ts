/**
 * Tests the audit log: its lines and the detection of every change.
 * It also outlives crashes and full disks.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { StartError } from '../../src/errors.ts'
import { type Log, newLog } from '../../src/log.ts'
import { type Deed, GATHERING_MS, openAudit } from '../../src/storage/audit.ts'
import { verifyAudit } from '../../src/storage/audit-chain.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const deed = (more: Partial<Deed> = {}): Deed => ({
  requestId: 'r-1',
  peer: () => 1000,
  token: 'tok_a',
  route: 'GET /api/v1/status',
  status: 200,
  outcome: 'done',
  ...more,
})
const refusal = deed({ token: null, status: 401, outcome: 'unauthorized' })

const silent: Log = () => undefined
const AT = Date.parse('2026-11-20T10:00:00Z')

function open(dir: string, { now = () => AT, log = silent, longest = 1_000_000 } = {}) {
  return openAudit({ dir, now, log, longest })
}

/** Writes the audit log of a run with these events. */
function written(dir: string, deeds: readonly Deed[], how: Parameters<typeof open>[1] = {}): void {
  const audit = open(dir, how)
  for (const one of deeds) audit.record(one)
  audit.close()
}

const fileOf = (dir: string) => join(dir, 'audit.jsonl')
const linesOf = (dir: string) => readFileSync(fileOf(dir), 'utf8').trimEnd().split('\n')
type Line = Record<string, unknown>
const parsed = (dir: string) => linesOf(dir).map((line) => JSON.parse(line) as Line)

/** Hashes independently of the code under test, as another program would. */
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

test('a line has the actor, the operation, the time and the outcome', (t) => {
  const dir = freshFolder(t)
  const made = deed({ route: 'POST /api/v1/token', token: null, status: 201, created: 'tok_b' })
  written(dir, [deed(), made])
  const [first = '', second = ''] = linesOf(dir)
  assert.equal(
    first,
    `{"line":1,"at":"2026-11-20T10:00:00.000Z","request_id":"r-1","peer_uid":1000,"channel":null,"token":"tok_a","route":"GET /api/v1/status","status":200,"outcome":"done","prev":"${NOTHING}"}`,
  )
  const { line, created, prev } = JSON.parse(second) as Line
  assert.deepEqual([line, created, prev], [2, 'tok_b', sha256(first)])
})

test('the next run continues the numbers of the last one', (t) => {
  const dir = freshFolder(t)
  written(dir, [deed()])
  written(dir, [deed(), deed()])
  const lines = linesOf(dir)
  assert.deepEqual(
    parsed(dir).map(({ line, prev }) => [line, prev]),
    [
      [1, NOTHING],
      [2, sha256(lines[0] as string)],
      [3, sha256(lines[1] as string)],
    ],
  )
  assert.deepEqual(verifyAudit(dir), {
    lines: 3,
    before: 0,
    cut: 0,
    from: '2026-11-20T10:00:00.000Z',
    to: '2026-11-20T10:00:00.000Z',
    head: sha256(lines[2] as string),
    knowsHead: null,
    fault: null,
  })
})

test('reads and starts are gathered; changes and errors are written at once, after them', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const dir = freshFolder(t)
  const audit = open(dir)
  audit.record(deed({ route: null, status: null, outcome: 'started' }))
  audit.record(deed())
  assert.equal(readFileSync(fileOf(dir), 'utf8'), '')
  t.mock.timers.tick(GATHERING_MS)
  assert.equal(linesOf(dir).length, 2)
  for (const [index, deedGiven] of [deed({ route: 'POST /api/v1/tags' }), refusal].entries()) {
    audit.record(deed())
    audit.record(deedGiven)
    assert.equal(linesOf(dir).length, 4 + 2 * index)
  }
  audit.close()
})

test('the line of a start is the first, has the time of the start, and is written without another', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const start = deed({ route: null, status: null, outcome: 'started' })
  const linesAfter = (later: (audit: ReturnType<typeof openAudit>) => void) => {
    const dir = freshFolder(t)
    let at = AT
    const audit = open(dir, { now: () => at })
    audit.record(start)
    at += 100
    later(audit)
    const text = readFileSync(fileOf(dir), 'utf8')
    audit.close()
    assert.equal(verifyAudit(dir).fault, null)
    const lines = parsed(dir).map(({ line, at: time, outcome }) => [line, time, outcome])
    return { lines, isWritten: text === readFileSync(fileOf(dir), 'utf8') }
  }
  const first = [1, '2026-11-20T10:00:00.000Z', 'started']
  const second = [2, '2026-11-20T10:00:00.100Z', 'unauthorized']
  assert.deepEqual(
    linesAfter((audit) => audit.record(refusal)),
    { lines: [first, second], isWritten: true },
  )
  assert.deepEqual(
    linesAfter(() => t.mock.timers.tick(GATHERING_MS)),
    { lines: [first], isWritten: true },
  )
  assert.deepEqual(
    linesAfter(() => undefined),
    { lines: [first], isWritten: false },
  )
})

test('reads that arrive while others are gathered are written with them', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const dir = freshFolder(t)
  const audit = open(dir)
  const lines = () => readFileSync(fileOf(dir), 'utf8').split('\n').length - 1
  for (const round of [1, 2]) {
    audit.record(deed())
    t.mock.timers.tick(GATHERING_MS - 1)
    audit.record(deed())
    assert.equal(lines(), 2 * round - 2)
    t.mock.timers.tick(1)
    assert.equal(lines(), 2 * round)
  }
  audit.close()
})

test('of any number of reads at once, each has a line', (t) => {
  const dir = freshFolder(t)
  written(
    dir,
    Array.from({ length: 10_000 }, () => deed()),
    { longest: 100_000_000 },
  )
  const lines = parsed(dir)
  assert.equal(lines.length, 10_000)
  assert(lines.every((line) => !('lost' in line)))
  assert.equal(verifyAudit(dir).fault, null)
})

/** Any event, also with texts that JSON must escape. */
const anyDeed = fc.record({
  requestId: fc.option(fc.string({ unit: 'binary' })),
  peer: fc.option(fc.nat()).map((uid) => () => uid),
  token: fc.string({ unit: 'binary' }),
  route: fc.option(fc.constantFrom('GET /health', 'GET /api/v1/tags', 'POST /api/v1/tags')),
  status: fc.constantFrom(200, 201, 404),
  outcome: fc.constantFrom('done', 'not_found'),
  created: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
})

test('after a change or an error, all lines so far are in the file, in order, as JSON', (t) => {
  fc.assert(
    fc.property(fc.array(anyDeed), (deeds) => {
      const dir = freshFolder(t)
      const audit = open(dir)
      for (const [index, one] of deeds.entries()) {
        audit.record(one)
        const isRead = one.outcome === 'done' && one.route?.startsWith('GET ')
        if (!isRead) assert.equal(linesOf(dir).length, index + 1)
      }
      audit.close()
      if (deeds.length === 0) return
      const lines = linesOf(dir)
      for (const [index, one] of deeds.entries()) {
        const { requestId, peer, created, ...same } = one
        assert.equal(lines[index], JSON.stringify(JSON.parse(lines[index] as string)))
        assert.deepEqual(JSON.parse(lines[index] as string), {
          ...same,
          line: index + 1,
          at: new Date(AT).toISOString(),
          request_id: requestId,
          peer_uid: peer(),
          channel: null,
          ...(created === undefined ? {} : { created }),
          prev: index === 0 ? NOTHING : sha256(lines[index - 1] as string),
        })
      }
    }),
  )
})

test('a line after the end goes to the program’s log, and to no other file', (t) => {
  const dir = freshFolder(t)
  const events: string[] = []
  const audit = open(dir, { log: (_, event) => void events.push(event) })
  audit.record(deed())
  audit.close()
  const text = readFileSync(fileOf(dir), 'utf8')
  audit.record(refusal)
  assert.deepEqual(events, ['audit log is closed'])
  assert.equal(readFileSync(fileOf(dir), 'utf8'), text)
})

test('lines that could not be written at the end are reported in the program’s log', (t) => {
  const dir = freshFolder(t)
  const logged: unknown[] = []
  const log: Log = (_, event, fields) => void logged.push([event, (fields as Line)['lines']])
  const audit = open(dir, { log, longest: 1 })
  audit.record(refusal)
  mkdirSync(fileOf(dir))
  audit.record(deed())
  audit.record(refusal)
  audit.close()
  assert.deepEqual(logged.at(-1), ['audit log ends without its last lines', 2])
})

test('numbers continue after lines that crashes cut off, also at the beginning of a file', (t) => {
  const dir = freshFolder(t)
  written(dir, [deed(), deed(), deed()])
  for (let crash = 0; crash < 3; crash++) {
    const { length } = readFileSync(fileOf(dir))
    written(dir, [deed()])
    truncateSync(fileOf(dir), length + 20)
  }
  written(dir, [deed(), deed()])
  assert.deepEqual(
    [verifyAudit(dir).lines, verifyAudit(dir).cut, verifyAudit(dir).fault],
    [8, 3, null],
  )
  written(dir, [deed()], { longest: 1 })
  written(dir, [deed()])
  truncateSync(fileOf(dir), 20)
  written(dir, [deed()])
  const { lines, cut, fault } = verifyAudit(dir)
  assert.deepEqual([lines, cut, fault], [11, 4, null])
})

/** Changes that are made to a log of five lines. */
const tampered: [
  name: string,
  change: (lines: string[]) => string[],
  fault: RegExp,
  row: number,
][] = [
  [
    'a changed line',
    ([a = '', b = '', ...rest]) => [a, b.replace('tok_a', 'tok_x'), ...rest],
    /does not follow/,
    3,
  ],
  ['a removed line', (lines) => lines.toSpliced(2, 1), /does not follow/, 3],
  ['a repeated line', (lines) => lines.toSpliced(2, 0, lines[1] as string), /does not follow/, 3],
  ['two swapped lines', ([a = '', b = '', ...rest]) => [b, a, ...rest], /does not follow/, 2],
  ['an inserted line', (lines) => lines.toSpliced(2, 0, 'x'), /does not follow/, 4],
  ['an invalid line', (lines) => lines.with(1, 'x'), /does not follow/, 3],
  [
    'a changed first line',
    (lines) => lines.with(0, (lines[0] as string).replace('200', '201')),
    /does not follow/,
    2,
  ],
  [
    'another beginning',
    (lines) => lines.with(0, (lines[0] as string).replace(NOTHING, 'a'.repeat(64))),
    /does not follow/,
    1,
  ],
  [
    'a skipped number, with a matching link',
    ([a = '', b = '']) => [a, b.replace('"line":2', '"line":3')],
    /has the number 3, not 2/,
    2,
  ],
]
for (const [name, change, what, row] of tampered)
  test(`${name} is detected`, (t) => {
    const dir = freshFolder(t)
    written(
      dir,
      Array.from({ length: 5 }, () => deed()),
    )
    writeFileSync(
      fileOf(dir),
      change(linesOf(dir))
        .map((line) => `${line}\n`)
        .join(''),
    )
    const { fault } = verifyAudit(dir)
    assert.equal(fault?.file, 'audit.jsonl')
    assert.equal(fault.row, row)
    assert.match(fault.what, what)
  })

test('lines cut from the end are detected by a noted head', (t) => {
  const dir = freshFolder(t)
  written(dir, [deed(), deed()])
  const { head } = verifyAudit(dir)
  written(dir, [deed()])
  assert.equal(verifyAudit(dir, head).knowsHead, true)
  writeFileSync(fileOf(dir), `${linesOf(dir)[0]}\n`)
  const report = verifyAudit(dir, head)
  assert.deepEqual([report.knowsHead, report.fault], [false, null])
})

test('a line that a crash cut off is linked by the next one like any other', (t) => {
  const dir = freshFolder(t)
  written(dir, [deed(), deed()])
  const { length } = readFileSync(fileOf(dir))
  truncateSync(fileOf(dir), length - 40)
  assert.deepEqual([verifyAudit(dir).lines, verifyAudit(dir).fault], [1, null])
  written(dir, [deed(), deed()])
  const { lines, cut, fault } = verifyAudit(dir)
  assert.deepEqual([lines, cut, fault], [4, 1, null])
  assert.deepEqual(JSON.parse(linesOf(dir)[2] as string).line, 3)
  // Removing the cut line is detected too.
  writeFileSync(
    fileOf(dir),
    linesOf(dir)
      .toSpliced(1, 1)
      .map((line) => `${line}\n`)
      .join(''),
  )
  assert.notEqual(verifyAudit(dir).fault, null)
})

test('a long log is rotated, the oldest file is deleted, and the chain covers all', (t) => {
  const dir = freshFolder(t)
  for (let i = 0; i < 24; i++) written(dir, [deed(), deed()], { longest: 700 })
  const names = readdirSync(dir).toSorted()
  assert.equal(names.length, 8, names.join())
  assert.match(names.join(), /^(audit-\d{12}\.jsonl,)+audit-000000000048\.jsonl$/)
  const { before, lines, fault, head } = verifyAudit(dir)
  assert.equal(before + lines, 48)
  assert.equal(before, 16)
  assert.equal(fault, null)
  // The log continues from that head, although its current file does not exist yet.
  written(dir, [deed()], { longest: 700 })
  assert.equal(parsed(dir)[0]?.['prev'], head)
  assert.equal(verifyAudit(dir).fault, null)
  rmSync(join(dir, names[3] as string))
  assert.match(verifyAudit(dir).fault?.what ?? '', /does not follow/)
})

test('rejected strangers write ten lines a minute at most, and the number of the others', (t) => {
  const dir = freshFolder(t)
  let at = AT
  const knocks = Array.from({ length: 1000 }, () => refusal)
  const audit = open(dir, { now: () => at })
  for (const knock of knocks) audit.record(knock)
  audit.record(deed())
  at += 60_000
  audit.record(refusal)
  audit.close()
  const lines = parsed(dir)
  assert.equal(lines.length, 12)
  assert.deepEqual(
    lines.slice(10).map(({ token, outcome, unlisted }) => [token, outcome, unlisted]),
    [
      ['tok_a', 'done', 990],
      [null, 'unauthorized', undefined],
    ],
  )
})

test('the peer is not looked up for a request without a line', (t) => {
  let looked = 0
  const peer = () => ++looked
  written(
    freshFolder(t),
    Array.from({ length: 1000 }, () => ({ ...refusal, peer })),
  )
  assert.equal(looked, 10)
})

test('lines wait while nothing can be written, and are written later', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const turn = () => t.mock.timers.tick(GATHERING_MS)
  const dir = freshFolder(t)
  const events: string[] = []
  const log = newLog('debug', (line) => events.push((JSON.parse(line) as { event: string }).event))
  const audit = open(dir, { log, longest: 300 })
  audit.record(deed())
  audit.record(deed())
  turn()
  // The file has reached its maximum length, and a folder stands where the next file is to be
  // created.
  mkdirSync(fileOf(dir))
  audit.record(deed())
  turn()
  audit.record(deed())
  turn()
  rmSync(fileOf(dir), { recursive: true })
  audit.record(deed())
  turn()
  audit.close()
  assert.deepEqual(
    events.map((event) => event.slice(0, 21)),
    ['audit log cannot be w', 'audit log written aga'],
  )
  const { lines, fault } = verifyAudit(dir)
  assert.deepEqual([lines, fault], [5, null])
})

test('lines that wait are written without another request', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const dir = freshFolder(t)
  const audit = open(dir, { longest: 1 })
  audit.record(refusal)
  mkdirSync(fileOf(dir))
  audit.record(refusal)
  t.mock.timers.tick(GATHERING_MS)
  rmSync(fileOf(dir), { recursive: true })
  t.mock.timers.tick(GATHERING_MS)
  const { lines, fault } = verifyAudit(dir)
  assert.deepEqual([lines, fault], [2, null])
  audit.close()
})

test('lines above the limit are counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const turn = () => t.mock.timers.tick(GATHERING_MS)
  const dir = freshFolder(t)
  const audit = open(dir, { longest: 1 })
  audit.record(deed())
  turn()
  mkdirSync(fileOf(dir))
  for (let i = 0; i < 6000; i++) audit.record(deed())
  turn()
  rmSync(fileOf(dir), { recursive: true })
  audit.record(deed())
  turn()
  audit.record(deed())
  audit.close()
  const { lines, fault } = verifyAudit(dir)
  assert.equal(fault, null)
  const last = readdirSync(dir).toSorted().at(-1) as string
  const text = readFileSync(join(dir, last), 'utf8').trimEnd().split('\n').at(-1) as string
  const { lost, line } = JSON.parse(text) as { lost: number; line: number }
  assert.equal(line, lines)
  assert.equal(lost + lines, 6003)
  assert(lost > 1000 && lines > 1000, `${lost} lost, ${lines} kept`)
})

const unsafe: [name: string, make: (path: string, dir: string) => void][] = [
  ['a link', (path, dir) => symlinkSync(join(dir, 'elsewhere'), path)],
  [
    'open to others',
    (path) => {
      writeFileSync(path, '')
      chmodSync(path, 0o644)
    },
  ],
  ['a folder', (path) => mkdirSync(path)],
]
for (const [name, make] of unsafe)
  test(`a file that is ${name} is rejected`, { skip: process.platform === 'win32' }, (t) => {
    const dir = freshFolder(t)
    make(fileOf(dir), dir)
    assert.throws(
      () => open(dir),
      (error) => error instanceof StartError || (error as NodeJS.ErrnoException).code === 'EISDIR',
    )
    assert(!existsSync(join(dir, 'elsewhere')))
  })

test('garbage at the end does not stop the log', (t) => {
  const dir = freshFolder(t)
  written(dir, [deed()])
  appendFileSync(fileOf(dir), 'x'.repeat(20_000))
  written(dir, [deed()])
  const { lines, cut, fault } = verifyAudit(dir)
  assert.deepEqual([lines, cut], [3, 1])
  assert.equal(fault, null)
})
