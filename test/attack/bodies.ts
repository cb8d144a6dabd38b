/** Bodies of authorized callers: too large, too deep, or of another type than declared. */
import { type Attack, CLOSE, FORM_TYPE, JSON_TYPE, askedBy, takesBody } from './attack.ts'
import type { Target } from './routes.ts'
import type { Scene } from './scene.ts'

const MIB = 1024 * 1024
const TOO_LARGE = /^413 payload_too_large$/
const limitOf = ({ route }: Target) => route?.limit ?? MIB
const typeOf = ({ route }: Target) => (route?.form === true ? FORM_TYPE : JSON_TYPE)
const isJson = (target: Target) =>
  takesBody(target) && target.route?.form !== true && target.route?.text !== true
const isForm = (target: Target) => takesBody(target) && target.route?.form === true
const isText = (target: Target) => takesBody(target) && target.route?.text === true

/** Required by the Model Context Protocol; no other row reads it. */
const ACCEPT = 'Accept: application/json, text/event-stream'

const send = (target: Target, scene: Scene, lines: readonly string[], body: string) =>
  askedBy(scene.opens(target), target, scene, { lines: [typeOf(target), ACCEPT, ...lines], body })

type Body = readonly [name: string, body: string, want?: RegExp]

const bad = (name: string, on: Attack['on'], body: string, want: RegExp): Attack => ({
  row: 'Oversize and hostile JSON',
  name,
  on,
  shots: async (target, scene) => {
    const isTooLarge = body.length > limitOf(target)
    return [
      {
        bytes: await send(target, scene, [CLOSE], body),
        want: isTooLarge ? TOO_LARGE : want,
        alone: true,
      },
    ]
  },
})

const nested = (levels: number) => `${'{"a":['.repeat(levels / 2)}1${']}'.repeat(levels / 2)}`
const INVALID = /^400 invalid_json$/

const JSONS: readonly Body[] = [
  ['only white space', ' '],
  ['half an object', '{"name":"n"'],
  ['two values', '{}{}'],
  ['a comment', '{/**/}'],
  ['an invalid number', '{"name":NaN}'],
  ['a control character', '{"name":"a\nb"}'],
  ['bytes that are not UTF-8', '{"name":"\xff"}'],
  ['an overlong encoding', '{"name":"\xc0\xaf"}'],
  ['an encoded surrogate', '{"name":"\xed\xa0\x80"}'],
  ['a byte order mark', '\xef\xbb\xbf{}'],
  ['UTF-16', '{\0}\0'],
  ['34 levels', nested(34)],
  ['30,000 levels', '['.repeat(30_000)],
  ['30,000 closed levels', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
  ['60,000 values', `{"a":[${'0,'.repeat(60_000)}0]}`],
  ['a prototype', '{"__proto__":{"scope":"full"}}'],
  ['a nested prototype', '{"name":[{"__proto__":1}]}'],
  ['an escaped prototype', '{"\\u005f_proto__":1}'],
  ['a repeated name', '{"scope":"read","scope":"full"}'],
  ['a repeated name in two spellings', '{"scope":"read","sc\\u006fpe":"full"}'],
]

/** JSON that is not an object, which no route accepts. */
const OTHERS: readonly Body[] = [
  ['a list', '[]'],
  ['a list of good ones', '[{"name":"n","scope":"full"}]'],
  ['null', 'null'],
  ['a text', '"x"'],
  ['a number', '1e999'],
]

const FORMS: readonly Body[] = [
  ['a repeated parameter', 'email=a&email=b'],
  ['an invalid escape', 'email=%zz'],
  ['an escape that is not UTF-8', 'email=%ff'],
  ['bytes beyond ASCII', 'email=\xff'],
  ['a NUL', 'email=\0'],
]

const TEXTS: readonly Body[] = [
  ['bytes that are not UTF-8', '{"name":"\xff"}'],
  ['an endlessly nested message', '['.repeat(100_000)],
  ['a message of 60,000 values', `[${'0,'.repeat(60_000)}0]`],
  ['a message of 6000 values', JSON.stringify(Array(6000).fill(0)), /^400$/],
  ['a batch of eleven', JSON.stringify(Array(11).fill({ jsonrpc: '2.0', method: 'x' })), /^400$/],
]

/** Grows beyond the limit, in chunks of 64 KiB. */
const CHUNK = `10000\r\n${' '.repeat(65_536)}\r\n`
const endless: Attack = {
  row: 'Oversize and hostile JSON',
  name: 'a chunked body that grows endlessly',
  on: (target) => takesBody(target) && limitOf(target) <= 4 * MIB,
  shots: async (target, scene) => {
    const body = CHUNK.repeat(Math.floor(limitOf(target) / 65_536) + 1)
    const bytes = await send(target, scene, ['Transfer-Encoding: chunked'], body)
    return [{ bytes, want: TOO_LARGE, alone: true }]
  },
}

const declared: Attack = {
  row: 'Oversize and hostile JSON',
  name: 'a body declared one byte too large',
  on: takesBody,
  shots: async (target, scene) => {
    const lines = [`Content-Length: ${limitOf(target) + 1}`]
    return [{ bytes: await send(target, scene, lines, ''), want: TOO_LARGE, alone: true }]
  },
}

const TYPED: readonly [name: string, line: string, also?: string][] = [
  ['UTF-16', '; charset=utf-16'],
  ['two charsets', '; charset=utf-8; charset=utf-16'],
  ['two types', ', text/plain'],
  ['gzip', '', 'Content-Encoding: gzip'],
]
const encoded = TYPED.map(([name, more, also]): Attack => ({
  row: 'Oversize and hostile JSON',
  name: `a body declared as ${name}`,
  on: takesBody,
  shots: async (target, scene) => {
    const lines = [typeOf(target) + more, CLOSE, ...(also === undefined ? [] : [also])]
    const bytes = await askedBy(scene.opens(target), target, scene, { lines, body: '{}' })
    return [{ bytes, want: /^415 unsupported_media_type$/, alone: true }]
  },
}))

export const bodies: readonly Attack[] = [
  declared,
  endless,
  ...encoded,
  ...JSONS.map(([name, body]) => bad(name, isJson, body, INVALID)),
  ...OTHERS.map(([name, body]) => bad(name, isJson, body, /^(422 validation_failed|409 \w+)$/)),
  ...FORMS.map(([name, body]) => bad(`a form with ${name}`, isForm, body, /^400 invalid_request$/)),
  ...TEXTS.map(([name, body, want = INVALID]) => bad(`a message: ${name}`, isText, body, want)),
]
