/** The story of the day in the log: one line for each event that is stored. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import { EVENT_TYPES } from '../../src/api/live/catalogue.ts'
import { EVENT_LINES, logStory } from '../../src/daemon/story.ts'
import { openState } from '../../src/state/state.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

interface Line {
  readonly level: string
  readonly event: string
}

const linesOf = ({ log }: TestDaemon) => log.map((line) => JSON.parse(line) as Line)

test('each event has one line at level info, with its ids and names', async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const token = await daemon.token('full')
  const body = { name: 'Bank' }
  const { json } = await daemon.request('POST', '/api/v1/connections', { token, body })
  const { id } = json as { id: string }
  await daemon.logged('words of a connection are usable')
  const written = linesOf(daemon).filter(({ event }) => event.includes('connection'))
  const line = { level: 'info', connection_id: id, name: 'Bank' }
  assert.deepEqual(
    written.map((one) => ({ ...one, time: '' })),
    ['connection added', 'words of a connection are usable'].map((event) => ({
      ...line,
      time: '',
      event,
    })),
  )
  assert.equal(linesOf(daemon).filter(({ event }) => event === 'token created').length, 1)
})

test('only events from then on, none of a change that was undone, and the last ones at the end', async (t) => {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  const lines: string[] = []
  const create = (id: string) => state.tokens.insert({ hash: id, id, created_at: 1 }, id)
  create('tok_before')
  const end = logStory(state.events, (_level, event, fields) => {
    lines.push(`${event} ${JSON.stringify(fields)}`)
  })
  const undone = () =>
    state.transaction(() => {
      create('tok_undone')
      throw new Error('undone')
    })
  const line = (id: string) => `token created {"token_id":"${id}","name":"${id}"}`
  t.mock.timers.enable({ apis: ['setTimeout'] })
  assert.throws(undone, /undone/)
  create('tok_a')
  await setImmediate()
  assert.deepEqual(lines, [])
  t.mock.timers.tick(100)
  assert.deepEqual(lines, [line('tok_a')])
  create('tok_b')
  end()
  create('tok_after')
  await setImmediate()
  t.mock.timers.tick(100)
  assert.deepEqual(lines, [line('tok_a'), line('tok_b')])
})

test('no two events have the same line', () => {
  const lines = EVENT_TYPES.map((type) => EVENT_LINES[type]).filter((line) => line !== null)
  assert.equal(new Set(lines).size, lines.length)
})
