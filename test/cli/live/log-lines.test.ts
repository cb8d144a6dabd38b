/** The log at a terminal: lines of text, which wait while a question is open. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { logLinesOf, textLine } from '../../../src/cli/log-lines.ts'
import { openPrompt } from '../../../src/cli/prompt.ts'
import { newLog } from '../../../src/log.ts'
import { environment } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { atRealTerminal, noRealTerminal } from '../real-terminal.ts'
import { terminal } from '../terminal.ts'

const time = '2026-01-02T03:04:05.678Z'
const clock = new Date(time).toTimeString().slice(0, 8)
const paper = { stream: { write: () => undefined }, env: {} }

const LINES: readonly (readonly [fields: Record<string, unknown>, text: string])[] = [
  [{ level: 'info', event: 'stopping' }, 'stopping'],
  [
    { level: 'warn', event: 'not handed over', cause: 'no answer' },
    'warn: not handed over: no answer',
  ],
  [{ level: 'error', event: 'tool failed', tool: 'x' }, 'error: tool failed (tool x)'],
  [
    { level: 'info', event: 'listening', account_address: 'http://h:1', version: '1', none: null },
    'listening (account address http://h:1, version 1)',
  ],
  [
    { level: 'info', event: 'guest code created', name: 'Mum (K), x', count: 2 },
    'guest code created (name "Mum (K), x", count 2)',
  ],
  [
    { level: 'error', event: 'e', cause: `Error: a\n${clock} forged`, name: 'b\n00:00:00 forged' },
    `error: e: Error: a\n    ${clock} forged (name "b\\n00:00:00 forged")`,
  ],
]
for (const [fields, text] of LINES)
  test(`a line of the log becomes ${JSON.stringify(text)}`, () => {
    assert.equal(textLine(JSON.stringify({ time, ...fields }), paper), `${clock} ${text}\n`)
  })

for (const isTTY of [true, false])
  test(`lines ${isTTY ? 'wait' : 'are JSON and do not wait'} while a question is open`, async () => {
    let seen = ''
    const answer = Promise.withResolvers<string>()
    async function* stdin() {
      yield await answer.promise
    }
    const io = {
      stdin: Object.assign(stdin(), { isTTY }),
      stdout: { write: () => undefined },
      stderr: { isTTY, write: (text: string) => void (seen += text) },
      env: { NO_COLOR: '1' },
    }
    const log = newLog('info', logLinesOf(io).write)
    log('info', 'before')
    const asked = openPrompt(io).ask('Your name: ')
    log('warn', 'meanwhile')
    const atQuestion = seen
    answer.resolve('Ada\n')
    assert.equal(await asked, 'Ada')
    log('info', 'after')
    if (isTTY) {
      assert.match(atQuestion, /^\d\d:\d\d:\d\d before\nYour name: $/)
      assert.match(seen, /Your name: \d\d:\d\d:\d\d warn: meanwhile\n\d\d:\d\d:\d\d after\n$/)
    } else {
      const events = seen
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { event: string }).event)
      assert.deepEqual(events, ['before', 'meanwhile', 'after'])
    }
  })

test('lines beyond a thousand no longer wait', () => {
  let count = 0
  const stderr = { isTTY: true, write: () => void count++ }
  const lines = logLinesOf({ stderr, env: {} })
  const release = lines.hold()
  const line = JSON.stringify({ time, level: 'info', event: 'x' })
  for (let at = 0; at < 1000; at++) lines.write(line)
  assert.equal(count, 0)
  lines.write(line)
  assert.equal(count, 1001)
  release()
})

describe('at a terminal', { skip: noRealTerminal }, () => {
  const question = 'press Enter for none): '

  it('the daemon logs text, and nothing between the question and its answer', async (t) => {
    const { screen } = await atRealTerminal(['serve'], environment(freshFolder(t)), [
      [question, 'Ada\n'],
      ['now see you as Ada', '\u0003'],
    ])
    assert(!screen.includes('{"time"'), screen)
    assert.match(screen, /^\d\d:\d\d:\d\d listening \(address http/m)
    assert.match(screen, /press Enter for none\): Ada\r?\n/)
    assert.match(screen, /\d\d:\d\d:\d\d stopping/)
  })

  it('the first start after another command asks too, until the answer is none', async (t) => {
    const dir = freshFolder(t)
    await terminal(dir)(['guest', 'create', '--label', 'Mum'])
    const interrupted = await atRealTerminal(['serve'], environment(dir), [[question, '\u0003']])
    assert(interrupted.screen.includes(question))
    const declined = await atRealTerminal(['serve'], environment(dir), [
      [question, '\n'],
      ['Other people see no name of you', '\u0003'],
    ])
    assert.equal(declined.code, 0, declined.screen)
    const again = await atRealTerminal(['serve'], environment(dir), [['listening', '\u0003']])
    assert(!again.screen.includes(question), again.screen)
  })
})
