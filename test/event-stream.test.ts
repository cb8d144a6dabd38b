/** The reader of event streams: any content, split into any pieces. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { deltaOf, errorEvent, chatFailure, outcomeOf } from '../src/api/chat-events.ts'
import { type StreamEvent, isEventStream, newEventReader } from '../src/api/event-stream.ts'
import { AppError } from '../src/errors.ts'
import { delta } from './service/endpoint.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const read = (...pieces: readonly (string | Uint8Array)[]): StreamEvent[] => {
  const events = newEventReader()
  return pieces.flatMap((piece) => events(typeof piece === 'string' ? bytesOf(piece) : piece))
}
const event = (data: string, name = ''): StreamEvent => ({ name, data })

describe('events', () => {
  const cases: [name: string, text: string, expected: StreamEvent[]][] = [
    ['one', 'data: a\n\n', [event('a')]],
    ['no space after the colon', 'data:a\n\n', [event('a')]],
    ['only one space is removed', 'data:  a\n\n', [event(' a')]],
    ['several lines', 'data: a\ndata\ndata: b\n\n', [event('a\n\nb')]],
    ['a name', 'event: error\ndata: a\n\ndata: b\n\n', [event('a', 'error'), event('b')]],
    ['comments and other fields', ': hello\nid: 1\nretry: 2\nx\ndata: a\n\n', [event('a')]],
    ['a name without data', 'event: x\n\ndata: a\n\n', [event('a')]],
    ['carriage returns', 'data: a\r\rdata: b\r\n\r\n', [event('a'), event('b')]],
    ['a byte order mark', '\ufeffdata: a\n\n', [event('a')]],
    ['without an end', 'data: a\n', []],
    ['a text', '<html>\n<body>\n\n', []],
    ['nothing', '', []],
  ]
  for (const [name, text, expected] of cases)
    test(name, () => {
      assert.deepEqual(read(`${text}data: z\n\n`).at(-1)?.data.at(-1), 'z', 'it goes on')
      assert.deepEqual(read(text), expected)
      assert.deepEqual(read(...Array.from(text)), expected, 'a character at a time')
    })

  test('any pieces give the same events', () => {
    const text = 'event: ä\r\ndata: 1€\r\n\r\ndata: 2\n\n: x\rdata: 😀\r\rdata: 3\n\n'
    const bytes = bytesOf(text)
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const pieces = at.slice(1).map((to, i) => bytes.subarray(at[i], to))
        assert.deepEqual(read(...pieces), read(text))
      }),
    )
  })

  test('an endless line takes no memory, and later events are read', () => {
    const events = newEventReader()
    const piece = bytesOf('x'.repeat(60_000))
    for (let i = 0; i < 100; i++) assert.deepEqual(events(piece), [])
    const line = bytesOf(`data: ${'y'.repeat(1000)}\n`)
    for (let i = 0; i < 1000; i++) assert.deepEqual(events(line), [])
    assert.deepEqual(events(bytesOf('\n\n')), [], 'too long')
    assert.deepEqual(events(bytesOf('data: a\n\n')), [event('a')])
  })

  const long = 'x'.repeat(65_537)
  const skipped: [name: string, ...pieces: string[]][] = [
    ['one line in one piece', `data: ${long}\n\n`],
    ['the end of a line that looks like one', `data: ${long}`, 'data: b\n\n'],
    ['a short line before', `data: b\ndata: ${long}`, 'x', '\n\n'],
    ['a short line after', `data: ${long}`, 'x\n', 'data: b\n\n'],
    ['a long name', `event: ${long}`, '\ndata: b\n\n'],
    ['a long comment', 'data: b\n', `:${long}`, 'x\r', '\n\n'],
    ['many lines', ...Array.from({ length: 1000 }, () => `data: ${'x'.repeat(100)}\n`), '\n'],
  ]
  for (const [what, ...pieces] of skipped)
    test(`above the limit an event is skipped, and the next is read: ${what}`, () => {
      const next = 'data: a\n\n'
      assert.deepEqual(read(...pieces, next), [event('a')])
      assert.deepEqual(read(pieces.join('') + next), [event('a')], 'in one piece')
    })

  test('a carriage return ends a line at once', () => {
    const events = newEventReader()
    assert.deepEqual(events(bytesOf('data: a\r')), [])
    assert.deepEqual(events(bytesOf('\r')), [event('a')])
    assert.deepEqual(events(bytesOf('')), [])
    assert.deepEqual(events(bytesOf('\ndata: b\n\n')), [event('b')], 'its line feed')
  })
})

test('the text that an event adds to the answer', () => {
  assert.deepEqual(read(delta('é\n"')).map(deltaOf), ['é\n"'])
  for (const data of [
    '[DONE]',
    '',
    '{',
    '{}',
    'null',
    '[]',
    '{"choices":null}',
    '{"choices":[]}',
    '{"choices":[null]}',
    '{"choices":[{"delta":{}}]}',
    '{"choices":[{"delta":{"content":null}}]}',
    '{"choices":[{"delta":{"content":1}}]}',
    '{"choices":[{"delta":{"role":"assistant"}}]}',
    '{"error":{"message":"no"}}',
    '{"__proto__":{"choices":[{"delta":{"content":"x"}}]}}',
  ])
    assert.equal(deltaOf(event(data)), '', data)
})

test('the state of the answer in an event', () => {
  const outcomes: [data: string, outcome: 'whole' | 'failed' | null][] = [
    ['[DONE]', 'whole'],
    [' [DONE]', 'whole'],
    ['{"choices":[{"delta":{},"finish_reason":"length"}]}', 'whole'],
    ['{"choices":[{"delta":{"content":"x"},"finish_reason":null}]}', null],
    ['{"choices":[]}', null],
    ['{"error":{"message":"no"}}', 'failed'],
    ['{"error":"no"}', 'failed'],
    ['{"error":null,"choices":[]}', null],
    ['{"choices":[{"delta":{"content":"{\\"error\\":1}"}}]}', null],
    ['error', null],
    ['', null],
  ]
  for (const [data, outcome] of outcomes) assert.equal(outcomeOf(event(data)), outcome, data)
})

test('the error event is read after a break at any place', () => {
  const error = new AppError('backend_error', 'It broke off.\n"€"', { cause: new Error('secret') })
  const expected = { error: 'backend_error', message: 'It broke off.\n"€"' }
  for (const before of ['', delta('a'), 'data: {"cho', 'data: a\r', 'ev', '\n', 'data: a\n']) {
    const last = read(before, errorEvent(error)).at(-1)!
    assert.deepEqual(chatFailure(last), expected, JSON.stringify(before))
    assert.equal(deltaOf(last), '')
  }
  assert.equal(chatFailure(event('{"error":"x","message":"y"}')), null, 'without its name')
  for (const data of ['{}', 'x', '{"error":{}}'])
    assert.equal(chatFailure(event(data, 'error')), null)
})

test('the media type of an event stream', () => {
  for (const type of [
    'text/event-stream',
    'TEXT/Event-Stream; charset=utf-8',
    'text/event-stream ;x',
  ])
    assert(isEventStream(type), type)
  for (const type of [undefined, '', 'text/event-streams', 'text/html', 'x text/event-stream'])
    assert(!isEventStream(type), type)
})
