/** Tests bodies: their maximum size, their type, and the JSON that they may hold. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CLOSE,
  JSON_TYPE,
  NEW_TOKEN,
  ask1,
  daemon,
  only,
  refused,
  withDaemon,
  write,
} from './guarding.ts'
import { answersIn, hostOf, send } from './raw.ts'

withDaemon()

describe('bodies', () => {
  const post = (lines: string[], body: string | Uint8Array = '') =>
    Promise.resolve(Buffer.from(body)).then(async (bytes) => {
      const head = [
        'POST /api/v1/token HTTP/1.1',
        `Host: ${hostOf(daemon.address)}`,
        CLOSE,
        ...lines,
      ]
      return answersIn(
        await send(
          daemon.address,
          Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]),
        ),
      )
    })
  const sized = (type: string[], body: string | Uint8Array) =>
    post([...type, `Content-Length: ${Buffer.byteLength(body)}`], body)

  test('a body declared too large → 413, unread', async () => {
    refused(await post([JSON_TYPE, 'Content-Length: 1048577']), 413, 'payload_too_large')
  })

  test('a chunked body that grows too large → 413', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    refused(
      await post([JSON_TYPE, 'Transfer-Encoding: chunked'], chunk.repeat(17)),
      413,
      'payload_too_large',
    )
  })

  test('the largest body is accepted', async () => {
    const body = NEW_TOKEN.padEnd(1_048_576)
    assert.equal(only(await sized([JSON_TYPE], body)).status, 201)
    assert.equal(
      only(await post([JSON_TYPE, 'Transfer-Encoding: chunked'], `100000\r\n${body}\r\n0\r\n\r\n`))
        .status,
      201,
    )
  })

  test('a stamp can be larger', async () => {
    const body = JSON.stringify({ content: 'a'.repeat(2_000_000) })
    const { status } = await daemon.request('POST', '/api/v1/stamp', { token: write, body })
    assert.equal(status, 201)
    const lines = (host: string) => [
      'POST /api/v1/stamp HTTP/1.1',
      `Host: ${host}`,
      `Authorization: Bearer ${write}`,
      JSON_TYPE,
      'Content-Length: 12582913',
    ]
    refused(await ask1('address', lines), 413, 'payload_too_large')
  })

  const types: [type: string[], taken: boolean][] = [
    [[JSON_TYPE], true],
    [['content-type: APPLICATION/JSON'], true],
    [['Content-Type: application/json;charset=utf-8'], true],
    [['Content-Type: application/json; charset=UTF-8'], true],
    [['Content-Type: application/json; charset="utf-8"'], true],
    [[], false],
    [['Content-Type:'], false],
    [['Content-Type: text/plain'], false],
    [['Content-Type: text/plain; x=application/json'], false],
    [['Content-Type: application/x-www-form-urlencoded'], false],
    [['Content-Type: multipart/form-data; boundary=x'], false],
    [['Content-Type: application/json, text/plain'], false],
    [['Content-Type: application/jsonp'], false],
    [['Content-Type: application/vnd.x+json'], false],
    [['Content-Type: application/json; charset=utf-16'], false],
    [['Content-Type: application/json; charset=iso-8859-1'], false],
    [['Content-Type: application/json; charset=utf-8; charset=utf-16'], false],
    [[JSON_TYPE, 'Content-Encoding: gzip'], false],
    [[JSON_TYPE, 'Content-Encoding: identity'], false],
  ]
  for (const [type, taken] of types)
    test(`${type.join(' and ') || 'no Content-Type'} → ${taken ? 201 : 415}`, async () => {
      const answers = await sized(type, NEW_TOKEN)
      if (taken) assert.equal(only(answers).status, 201)
      else refused(answers, 415, 'unsupported_media_type')
    })

  const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`
  const invalid: [name: string, body: string | Uint8Array][] = [
    ['only white space', ' '],
    ['half an object', '{"name":"n"'],
    ['a trailing comma', '{"name":"n",}'],
    ['a comment', '{"name":"n"/*x*/}'],
    ['single quotes', "{'name':'n'}"],
    ['two values', `${NEW_TOKEN}${NEW_TOKEN}`],
    ['NaN', '{"name":NaN}'],
    ['a control character in a string', '{"name":"a\nb"}'],
    ['a form', 'name=n&scope=read'],
    ['invalid UTF-8', Buffer.from('{"name":"\xff","scope":"read"}', 'latin1')],
    ['an overlong slash', Buffer.from('{"name":"\xc0\xaf","scope":"read"}', 'latin1')],
    ['an encoded surrogate', Buffer.from('{"name":"\xed\xa0\x80","scope":"read"}', 'latin1')],
    ['UTF-16', Buffer.from(NEW_TOKEN, 'utf16le')],
    ['a byte order mark', `\ufeff${NEW_TOKEN}`],
    ['33 levels', `[${nested(32)}]`],
    ['a million levels', '['.repeat(1_000_000)],
    ['a million closed levels', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['60,000 values', `{"name":[${'0,'.repeat(60_000)}0]}`],
    ['60,000 empty lists', `{"name":[${'[],'.repeat(30_000)}[]],"a":[${'{},'.repeat(30_000)}{}]}`],
    ['__proto__', '{"__proto__":{"scope":"full"},"name":"n","scope":"read"}'],
    ['a nested __proto__', '{"name":{"a":[{"__proto__":1}]},"scope":"read"}'],
    ['an escaped __proto__', '{"\\u005f_proto__":1,"name":"n","scope":"read"}'],
    ['a repeated name', '{"name":"n","scope":"read","scope":"full"}'],
    ['a repeated name in two spellings', '{"name":"n","scope":"read","\\u0073cope" : "full"}'],
    ['a nested repeated name', '{"name":[{"a":1,"b":"x,\\"}","a":2}],"scope":"read"}'],
  ]
  for (const [name, body] of invalid)
    test(`${name} is rejected as JSON → 400`, async () => {
      const { message } = JSON.parse(
        refused(await sized([JSON_TYPE], body), 400, 'invalid_json').body,
      ) as { message: string }
      assert(message.length < 200, message)
    })

  const valid: [name: string, body: string][] = [
    ['32 levels', nested(32)],
    ['names that are equal in different objects', '{"name":[{"a":1},{"a":2,"b":{"a":"a"}}]}'],
    [
      'texts that look like names',
      '{"name":["a","a","__proto__","\\\\",":"],"scope":"{\\"a\\":1,\\"a\\":2}"}',
    ],
    ['an escaped quote before a colon', '{"name":"\\":{","scope":5}'],
    ['a backslash before a quote', '{"name":"\\\\","scope":"\\"\\\\\\""}'],
    [
      'JSON punctuation in a text',
      `{"name":"${'[{,:'.repeat(60_000)}\\"${'[{,:'.repeat(60_000)}"}`,
    ],
    ['null', 'null'],
    ['a number', '1'],
  ]
  for (const [name, body] of valid)
    test(`${name}: valid JSON, invalid here → 422`, async () => {
      refused(await sized([JSON_TYPE], body), 422, 'validation_failed')
    })

  test('constructor and prototype are ordinary names', async () => {
    const { json } = await daemon.request('POST', '/api/v1/token', {
      body: '{"constructor":{"prototype":{"scope":"full"}},"name":"n","scope":"read"}',
    })
    assert.equal((json as { error: string }).error, 'validation_failed')
    assert.equal(({} as { scope?: string }).scope, undefined)
  })
})
