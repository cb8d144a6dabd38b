/** The commands `ask` and `feedback`: at a terminal, in scripts, with a daemon and without. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { run } from '../../src/cli/run.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { errorEvent } from '../../src/api/chat-events.ts'
import { environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { LAST, begins, delta, messagesOf, says, startEndpoint } from '../service/endpoint.ts'
import { letterIn } from '../service/letters.ts'
import { call } from './calling.ts'
import { daemonHere, streams, terminal } from './terminal.ts'

const CONVERSATION = `cnv_${'0'.repeat(26)}`
const TURN = `trn_${'0'.repeat(26)}`

/** Returns an API that answers with these pieces. */
function answering(...pieces: readonly (string | Uint8Array | Error)[]) {
  const asked: unknown[] = []
  async function* body() {
    for (const piece of pieces) {
      if (piece instanceof Error) throw piece
      yield typeof piece === 'string' ? Buffer.from(piece) : piece
    }
  }
  const api = {
    chat: {
      turn: async (input: { body: unknown }) => {
        asked.push(input.body)
        const headers = { 'x-conversation-id': CONVERSATION, 'X-Turn-Id': TURN }
        return { type: 'text/event-stream', body: body(), headers }
      },
    },
  } as unknown as Partial<Api>
  return { api, asked }
}

describe('ask', () => {
  it('prints only the text of the answer', async () => {
    const { api, asked } = answering(delta('Hel'), delta('lo\n\ttab'), ': x\n\n', LAST)
    const result = await call(api, ['ask', 'What?'])
    assert.deepEqual(result, {
      code: EXIT.ok,
      out: 'Hello\n\ttab\n',
      err: `To continue: countersignd ask --conversation ${CONVERSATION} "…"\n`,
    })
    assert.deepEqual(asked, [{ message: 'What?' }])
  })

  it('continues a conversation', async () => {
    const { api, asked } = answering(delta('Yes.\n'))
    const { out } = await call(api, ['ask', 'And?', '--conversation', CONVERSATION])
    assert.equal(out, 'Yes.\n')
    assert.deepEqual(asked, [{ message: 'And?', conversation_id: CONVERSATION }])
  })

  it('--json prints the whole answer, with its ids', async () => {
    const { api } = answering(delta('Hel'), delta('lo'), LAST)
    const { out, err } = await call(api, ['ask', 'What?', '--json'])
    assert.deepEqual(JSON.parse(out), {
      turn_id: TURN,
      conversation_id: CONVERSATION,
      answer: 'Hello',
    })
    assert.equal(err, '')
  })

  it('removes terminal controls from an answer', async () => {
    const { api } = answering(delta('\u001b[2J\u202eno\r\u0007'))
    assert.equal((await call(api, ['ask', '?'])).out, '�[2J�no��\n')
  })

  it('accepts lines that end with CRLF, also split between pieces', async () => {
    const { api } = answering(delta('One.\r'), delta('\nTwo.\r\n'), LAST)
    assert.equal((await call(api, ['ask', '?'])).out, 'One.\nTwo.\n')
  })

  for (const [what, last] of [
    ['is reported to', errorEvent(new AppError('backend_error', 'The assistant \u001bbroke off.'))],
    ['a stopped daemon makes', new Error('aborted')],
  ] as const)
    it(`an answer that ${what} break off: prints the received part and the reason, and fails`, async () => {
      const pieces = [delta('Half an'), 'data: {"cho', last]
      const result = await call(answering(...pieces).api, ['ask', '?'])
      assert.deepEqual([result.code, result.out], [EXIT.failed, 'Half an\n'])
      assert.match(result.err, /^The (assistant �broke off|answer was interrupted)\./)
      const json = await call(answering(...pieces).api, ['ask', '?', '--json'])
      assert.deepEqual([json.code, json.out], [EXIT.failed, ''], 'half an answer is no JSON')
    })
})

describe('feedback', () => {
  const taking = (mailed = true) => {
    const taken: unknown[] = []
    const send = async ({ body }: { body: object }) => {
      taken.push(body)
      return { id: 'fdb_x', category: null, mailed, created_at: '', ...body }
    }
    return { api: { feedback: { send } } as unknown as Partial<Api>, taken }
  }

  it('is sent unchanged', async () => {
    const { api, taken } = taking()
    const result = await call(api, ['feedback', 'It works.'])
    assert.deepEqual(result, { code: EXIT.ok, out: '', err: 'Sent. Thank you.\n' })
    await call(api, ['feedback', '-', '--category', 'idea'], { input: 'One.\n\nTwo.\n' })
    assert.deepEqual(taken, [
      { message: 'It works.' },
      { message: 'One.\n\nTwo.', category: 'idea' },
    ])
  })

  it('is not called sent if the account server sends no mail', async () => {
    const { err } = await call(taking(false).api, ['feedback', 'It works.'])
    assert.match(err, /^Stored, but not sent: this account server sends no mail\./)
  })

  for (const [what, words, input] of [
    ['nothing', ['feedback', ' '], ''],
    ['an empty pipe', ['feedback', '-'], '\n'],
    ['an unknown category', ['feedback', 'x', '--category', 'rant'], ''],
  ] as const)
    it(`${what} is wrong usage`, async () => {
      const { api, taken } = taking()
      const { err, out } = await call(api, words as never, { input })
      assert.match(err, /The feedback is empty|problem, idea, question, praise, other/)
      assert.deepEqual([out, taken], ['', []])
    })
})

test('with a daemon the answer is printed as it arrives', async (t) => {
  const endpoint = await startEndpoint()
  t.after(() => endpoint.close())
  const stateDir = freshFolder(t)
  const daemon = await daemonHere(stateDir, 'error', {
    SVC_ASSISTANT_URL: endpoint.url,
    SVC_ASSISTANT_MODEL: 'm-1',
  })
  t.after(() => daemon.close())
  const printed = Promise.withResolvers<void>()
  endpoint.speak = async (res) => {
    begins(res).write(delta('First. '))
    await printed.promise
    res.write(delta('Last.'))
    res.end(LAST)
  }
  const { result, io } = streams()
  const stdout = {
    write: (text: string) => {
      io.stdout.write(text)
      if (result.out === 'First. ') printed.resolve()
    },
  }
  const code = await run(['ask', 'What?'], { ...io, stdout, env: environment(stateDir) })
  assert.deepEqual([code, result.out], [EXIT.ok, 'First. Last.\n'], result.err)
  const [, conversation = ''] = /--conversation (cnv_\w{26}) /.exec(result.err) ?? []

  endpoint.speak = says('More.')
  const on = terminal(stateDir)
  const more = await on(['ask', 'And?', '--conversation', conversation, '--json'])
  assert.equal(JSON.parse(more.out).answer, 'More.', more.err)
  assert.deepEqual(messagesOf(endpoint.asked[1]!).slice(1, 3), [
    ['user', 'What?'],
    ['assistant', 'First. Last.'],
  ])
  endpoint.speak = (res) => begins(res).write(delta('Half'), () => res.socket!.destroy())
  const half = await on(['ask', 'And?'])
  assert.deepEqual([half.code, half.out], [EXIT.failed, 'Half\n'])
  assert.match(half.err, /closed the connection/)
  endpoint.speak = (res) => res.writeHead(500).end()
  const none = await on(['ask', 'And?'])
  assert.deepEqual([none.code, none.out], [EXIT.failed, ''])
  assert.match(none.err, /The assistant is busy/)
  assert.match((await on(['ask', '?', '--conversation', CONVERSATION])).err, /no such conversation/)
})

test('without a daemon and an assistant the handbook answers, and feedback is mailed', async (t) => {
  const stateDir = freshFolder(t)
  const on = terminal(stateDir)
  const { code, out, err } = await on(['ask', 'How do I check a stamp offline?'])
  assert.equal(code, EXIT.ok, err)
  assert.match(out, /^No assistant is configured .* from the handbook/)
  assert.match(err, /^From: .*docs\/cli\.md/)
  const whole = JSON.parse((await on(['ask', 'stamp', '--json'])).out)
  assert.equal(whole.assistant, 'handbook')
  assert.match((await on(['ask', 'Bake me a cake'])).out, /nothing in it matches/)

  const sent = await on(['feedback', 'It works.', '--category', 'praise', '--json'])
  assert.equal(JSON.parse(sent.out).category, 'praise', sent.err)
  await letterIn(`${stateDir}/mail`, 'countersign@localhost', /^> It works\.$/m)
})
