/** Turns with the assistant and with the handbook, and ratings, for every engine. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Content } from '../../../src/api/route.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { type ServiceDatabase, openServiceDatabase } from '../database.ts'
import { type Endpoint, LAST, begins, delta, messagesOf, says, startEndpoint } from '../endpoint.ts'
import type { Engine } from '../engines.ts'
import { BAD_TEXTS, asMachine } from '../asking.ts'
import { type Person, enrol } from '../person.ts'
import { type LocalSubject, openSubject } from '../subject.ts'
import { rejects } from '../../rejects.ts'
import { until } from '../../until.ts'

const HOUR = 3_600_000

const idsOf = ({ headers = {} }: Content) => ({
  turn: headers['X-Turn-Id']!,
  conversation: headers['X-Conversation-Id']!,
})

const textOf = async ({ body }: Content): Promise<string> => {
  if (typeof body === 'string') return body
  const chunks = []
  for await (const bytes of body as AsyncIterable<Uint8Array>) chunks.push(bytes)
  return Buffer.concat(chunks).toString()
}

export function chatSuite(name: string, { newPlace }: Engine): void {
  describe(`assistant: ${name}`, () => {
    let endpoint: Endpoint
    let subject: LocalSubject
    let database: ServiceDatabase
    let ada: Person
    before(async () => {
      endpoint = await startEndpoint()
      const place = await newPlace()
      const assistant = { url: endpoint.url, keyFile: null, model: 'm-1' }
      subject = await openSubject(place, undefined, { assistant })
      database = await openServiceDatabase(place)
    })
    beforeEach(async () => {
      ada = await enrol(subject.server, 'Ada')
      endpoint.speak = says('Hello.')
      endpoint.asked.length = 0
    })
    after(async () => {
      await subject.close()
      await database.close()
      endpoint.close()
    })

    const turn = async (message: string, conversation_id?: string | null, by = ada) =>
      by.account.chat.turn({
        body: { message, ...(conversation_id === undefined ? {} : { conversation_id }) },
      })
    /** Runs a turn and reads its answer to the end. */
    const ask = async (...of: Parameters<typeof turn>) => {
      const content = await turn(...of)
      return { ...idsOf(content), text: await textOf(content) }
    }
    const stored = () =>
      database.db
        .selectFrom('chat_turns')
        .selectAll()
        .where('account_id', '=', ada.id)
        .orderBy('id')
        .execute()

    test('passes the answer unchanged, with the ids, and stores the turn', async () => {
      endpoint.speak = says('Hel', 'lo.')
      const content = await turn('What is a <b>stamp</b>?')
      assert.equal(content.type, 'text/event-stream')
      assert.equal(await textOf(content), delta('Hel') + delta('lo.') + LAST)
      const { turn: id, conversation } = idsOf(content)
      assert.match(`${id} ${conversation}`, /^trn_\w{26} cnv_\w{26}$/)
      const [row, ...others] = await stored()
      assert.equal(others.length, 0)
      assert.deepEqual(
        { ...row },
        {
          id,
          account_id: ada.id,
          conversation_id: conversation,
          message: 'What is a <b>stamp</b>?',
          answer: 'Hello.',
          rating: null,
          comment: null,
          created_at: subject.clock.ms,
        },
      )
    })

    test('the assistant gets the handbook, and no data of the account', async () => {
      await ask('How do I check a stamp offline?')
      const [[role, system], question] = messagesOf(endpoint.asked[0]!) as [
        [string, string],
        [string, string],
      ]
      assert.equal(role, 'system')
      assert.match(system, /Countersign/)
      assert.match(system, /# .*\((README|docs\/\w+)\.md\)\n[^]*stamp/)
      assert.deepEqual(question, ['user', 'How do I check a stamp offline?'])
      assert(!endpoint.asked[0]!.body.includes(ada.id))
      assert(!endpoint.asked[0]!.body.includes('Ada'))
    })

    test('a conversation continues with its own earlier turns, in order', async () => {
      endpoint.speak = says('One.')
      const { conversation } = await ask('1?')
      endpoint.speak = says('Two.')
      assert.equal((await ask('2?', conversation)).conversation, conversation)
      await ask('3?', conversation)
      const history = messagesOf(endpoint.asked[2]!).slice(1)
      assert.deepEqual(history, [
        ['user', '1?'],
        ['assistant', 'One.'],
        ['user', '2?'],
        ['assistant', 'Two.'],
        ['user', '3?'],
      ])
      const other = await ask('4?', null)
      assert.notEqual(other.conversation, conversation)
      assert.deepEqual(messagesOf(endpoint.asked[3]!).slice(1), [['user', '4?']])
    })

    test('of a long conversation the newest turns are sent, within the size limit', async () => {
      const { conversation } = await ask('first')
      for (let i = 0; i < 12; i++) await ask(`q${i}`, conversation)
      const many = messagesOf(endpoint.asked.at(-1)!).slice(1)
      assert.deepEqual([many.length, many[0]], [21, ['user', 'q1']])
      await ask('x'.repeat(16_000), conversation)
      endpoint.speak = says('y'.repeat(10_000))
      await ask('z', conversation)
      await ask('last', conversation)
      const few = messagesOf(endpoint.asked.at(-1)!).slice(1)
      assert.deepEqual(
        few.map(([, text]) => text.slice(0, 5)),
        ['z', 'yyyyy', 'last'],
      )
    })

    test('of an answer that breaks off, the received part is stored, and the client gets the reason', async () => {
      endpoint.speak = (res) => {
        begins(res).write(delta('Hal'), () => res.socket!.destroy())
      }
      const { text, conversation } = await ask('1?')
      assert(text.startsWith(delta('Hal')), text)
      assert.match(text, /\n\nevent: error\ndata: \{"error":"backend_error",.*\}\n\n$/)
      assert.equal((await stored())[0]?.answer, 'Hal')
      endpoint.speak = says('Whole.')
      await ask('2?', conversation)
      assert.deepEqual(messagesOf(endpoint.asked[1]!)[2], ['assistant', 'Hal'])
    })

    const STOPPED = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
    const FAULT = 'data: {"error":{"message":"No.","code":500}}\n\n'
    const ends: [name: string, last: string, isWhole: boolean][] = [
      ['the last mark', LAST, true],
      ['a finish reason', STOPPED, true],
      ['a finish reason and the usage', `${STOPPED}data: {"choices":[],"usage":{}}\n\n`, true],
      ['an error of null', `data: {"choices":[],"error":null}\n\n${LAST}`, true],
      ['nothing', '', false],
      ['half an event', 'data: {"cho', false],
      ['half of the last mark', 'data: [DO', false],
      ['an error', FAULT, false],
      ['an error and the last mark', FAULT + LAST, false],
      ['an error as text', `data: {"error":"No."}\n\n`, false],
      ['an error with an event name', `event: error\n${FAULT}`, false],
    ]
    for (const [what, last, isWhole] of ends)
      test(`an answer without a length that ends with ${what} is ${isWhole ? 'whole' : 'broken off'}`, async () => {
        endpoint.speak = (res) => {
          // The answer then ends only with the connection.
          res.useChunkedEncodingByDefault = false
          res.shouldKeepAlive = false
          begins(res).end(delta('Hal') + last)
        }
        const { text } = await ask('1?')
        const event = /\n\nevent: error\ndata: \{"error":"backend_error","message":"[^"]+"\}\n\n$/
        assert.equal(text.replace(event, ''), delta('Hal') + last)
        assert.equal(event.test(text), !isWhole)
        assert.equal((await stored())[0]?.answer, 'Hal')
      })

    test('an account that is deleted during the answer gets not_found', async () => {
      const eve = await enrol(subject.server, 'Eve')
      endpoint.speak = async (res) => {
        await eve.account.account.delete({})
        says('Hello.')(res, endpoint.asked[0]!)
      }
      await rejects('not_found', turn('1?', null, eve))
    })

    test('a reader who leaves cancels the request; the received part is stored', async () => {
      const gone = Promise.withResolvers<void>()
      endpoint.speak = (res) => {
        res.once('close', () => gone.resolve())
        begins(res).write(delta('Hal'))
      }
      const { body } = await turn('1?')
      const reader = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
      await reader.next()
      await reader.return!()
      await gone.promise
      await until('the stored answer', async () => (await stored())[0]?.answer !== null)
      assert.equal((await stored())[0]?.answer, 'Hal')
    })

    const odd: [name: string, bytes: string, answer: string | null][] = [
      ['garbage', `x\0y\n\n{}\n\ndata: [[[\n\n${LAST}`, null],
      [
        'an answer without text',
        `data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n${LAST}`,
        null,
      ],
      ['a null and a lone surrogate', delta('a\0b') + delta('\ud83d') + LAST, 'ab\ufffd'],
      ['a long answer', delta('x'.repeat(30_000)).repeat(3) + LAST, 'x'.repeat(65_536)],
    ]
    for (const [what, bytes, answer] of odd)
      test(`${what} is passed unchanged, and its valid text is stored up to a limit`, async () => {
        endpoint.speak = (res) => begins(res).end(bytes)
        assert.equal((await ask('1?')).text, bytes)
        assert.equal((await stored())[0]?.answer, answer)
      })

    test('an error of the endpoint is reported, stores no turn, and the conversation continues', async () => {
      const { conversation } = await ask('1?')
      for (const [status, code] of [
        [401, 'backend_error'],
        [429, 'backend_unavailable'],
        [500, 'backend_unavailable'],
      ] as const) {
        endpoint.speak = (res) => res.writeHead(status).end('secret')
        await rejects(code, turn('2?', conversation), { says: /^The assistant (?!.*secret)/ })
      }
      endpoint.speak = says('Well.')
      await ask('3?', conversation)
      assert.deepEqual(
        (await stored()).map(({ message }) => message),
        ['1?', '3?'],
      )
    })

    test('conversations and turns of other accounts are not found', async () => {
      const { conversation, turn: id } = await ask('1?')
      const eve = await enrol(subject.server, 'Eve')
      endpoint.asked.length = 0
      await rejects('not_found', turn('2?', conversation, eve))
      await rejects('not_found', turn('2?', newId('cnv_', 0)))
      assert.equal(endpoint.asked.length, 0, 'nothing was passed on')
      for (const by of [eve, ada])
        await rejects(
          'not_found',
          by.account.chat.rate({
            body: { turn_id: by === eve ? id : newId('trn_', 0), rating: 'up' },
          }),
        )
      assert.equal((await stored())[0]?.rating, null)
      for (const conversation_id of ['', 'x', 'cnv_x', id, `${conversation} `])
        await rejects('validation_failed', turn('2?', conversation_id))
    })

    test('a new rating replaces the one before', async () => {
      const { turn: turn_id } = await ask('1?')
      for (const [body, comment] of [
        [{ rating: 'up', comment: '<i>good</i>\n!' }, '<i>good</i>\n!'],
        [{ rating: 'up', comment: '<i>good</i>\n!' }, '<i>good</i>\n!'],
        [{ rating: 'down' }, null],
        [{ rating: 'up', comment: null }, null],
      ] as const) {
        const rated = { turn_id, rating: body.rating, comment }
        assert.deepEqual(await ada.account.chat.rate({ body: { turn_id, ...body } }), rated)
        const [row] = await stored()
        assert.deepEqual([row?.rating, row?.comment], [body.rating, comment])
      }
      for (const more of [
        { rating: 'sideways' },
        { rating: 'up', comment: 'x'.repeat(2001) },
        { rating: 'up', comment: 'a\u202eb' },
        { rating: 'up', stars: 5 },
      ])
        await rejects(
          'validation_failed',
          ada.account.chat.rate({ body: { turn_id, ...more } as never }),
        )
    })

    test('invalid questions are not passed on', async () => {
      for (const [what, message] of BAD_TEXTS)
        await assert.rejects(
          ada.account.chat.turn({ body: { message } as never }),
          { code: 'validation_failed' },
          what,
        )
      assert.equal(endpoint.asked.length, 0)
    })

    test('an account has five running answers at most', async () => {
      const open: (() => unknown)[] = []
      endpoint.speak = (res) => {
        begins(res).write(delta('…'))
        open.push(() => res.end(LAST))
      }
      const running = await Promise.all([1, 2, 3, 4, 5].map(() => turn('?')))
      await rejects('rate_limited', turn('?'), { says: /in progress/ })
      const eve = await enrol(subject.server, 'Eve')
      const hers = await turn('?', null, eve)
      for (const end of open) end()
      await Promise.all([...running, hers].map(textOf))
      endpoint.speak = (res) => res.writeHead(500).end()
      for (let i = 0; i < 6; i++) await rejects('backend_unavailable', turn('?'))
      endpoint.speak = says('Hello.')
      await ask('?')
    })

    test('a machine account can ask, too', async () => {
      const { chat } = asMachine(subject, ada)
      assert.equal(
        await textOf(await chat.turn({ body: { message: '?' } })),
        delta('Hello.') + LAST,
      )
    })

    test('the newest 1,000 turns are kept', async () => {
      const rows = Array.from({ length: 1000 }, (_, i) => ({
        id: newId('trn_', 1000 + i),
        account_id: ada.id,
        conversation_id: newId('cnv_', 0),
        message: `${i}`,
        answer: null,
        rating: null,
        comment: null,
        created_at: 1000 + i,
      }))
      for (let i = 0; i < rows.length; i += 100)
        await database.db
          .insertInto('chat_turns')
          .values(rows.slice(i, i + 100))
          .execute()
      await ask('newest')
      const messages = (await stored()).map(({ message }) => message)
      assert.deepEqual([messages.length, messages[0], messages.at(-1)], [1000, '1', 'newest'])
    })
  })

  describe(`handbook: ${name}`, () => {
    let subject: LocalSubject
    let ada: Person
    before(async () => {
      subject = await openSubject(await newPlace())
    })
    beforeEach(async () => {
      ada = await enrol(subject.server, 'Ada')
    })
    after(() => subject.close())

    interface Answered {
      turn_id: string
      conversation_id: string
      assistant: string
      answer: string
      sections: { title: string; source: string; text: string }[]
    }
    async function ask(message: string, conversation_id?: string): Promise<Answered> {
      const content = await ada.account.chat.turn({
        body: { message, ...(conversation_id === undefined ? {} : { conversation_id }) },
      })
      assert.equal(content.type, 'application/json')
      const answered = JSON.parse(await textOf(content)) as Answered
      assert.deepEqual(idsOf(content), {
        turn: answered.turn_id,
        conversation: answered.conversation_id,
      })
      return answered
    }

    test('answers if there is no assistant, and names itself as the source', async () => {
      const { assistant, answer, sections, turn_id, conversation_id } = await ask(
        'How do I check a stamp offline?',
      )
      assert.equal(assistant, 'handbook')
      assert.match(answer, /^No assistant is configured .* from the handbook/)
      assert(answer.includes(sections[0]!.text))
      for (const { title, source, text } of sections) {
        assert.match(source, /^(README|docs\/\w+)\.md$/)
        assert.notEqual(title, '')
        assert.match(text, /stamp|offline|check/i)
      }
      const again = await ask('And its receipt?', conversation_id)
      assert.equal(again.conversation_id, conversation_id)
      const rated = { turn_id, rating: 'up' as const, comment: null }
      assert.deepEqual(await ada.account.chat.rate({ body: rated }), rated)
    })

    for (const message of ['Bake me a cake', '?!', '" OR *', 'the and of'])
      test(`reports that nothing matches: ${message}`, async () => {
        const { answer, sections } = await ask(message)
        assert.deepEqual(sections, [])
        assert.match(answer, /nothing in it matches/)
        assert.match(answer, /- The command line: .*Signing in/)
      })

    test('120 questions an hour; the next when the first is an hour old', async () => {
      const { chat } = asMachine(subject, ada)
      const again = () => chat.turn({ body: { message: 'stamp' } })
      for (let i = 0; i < 120; i++) await again()
      subject.clock.ms += HOUR - 10_000
      await assert.rejects(again(), { code: 'rate_limited', headers: { 'Retry-After': '10' } })
      subject.clock.ms += 10_000
      await again()
    })
  })
}
