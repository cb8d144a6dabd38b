/**
 * Services behind a daemon that repeat its requests in their answers: an account server, a mail
 * relay, a database, an assistant. The log gets no secret, and the caller none that has the form
 * of a secret.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import pg from 'pg'
import { SMTPServer } from 'smtp-server'
import type { AddressInfo } from 'node:net'
import { newToken } from '../../src/crypto/token.ts'
import { terminal } from '../cli/terminal.ts'
import { ask, startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Seen, json, scripted } from '../remote/scripted.ts'
import { startEndpoint } from '../service/endpoint.ts'
import { newDatabase } from '../service/shared-postgres.ts'
import { type Canary, hitsIn, needlesOf, newCanaries } from './canaries.ts'
import { until } from '../until.ts'

/** Canaries with the form of a secret. The daemon cannot recognise the others in an answer. */
const shaped = () =>
  newCanaries().filter(({ name }) => !['a password', 'another scheme'].includes(name))

test('a database that repeats the values of a row, with a stack trace', async (t) => {
  const url = await newDatabase()
  const daemon = await startDaemon({ SVC_DATABASE_URL: url })
  t.after(() => daemon.close())
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`create function tell() returns trigger language plpgsql as
    $$ begin raise exception 'no room for %', new.name using detail = new.name; end $$`)
  await client.query(
    'create trigger telling before insert on tags for each row execute function tell()',
  )
  await client.end()
  const password = new URL(url).password
  const canaries = shaped()
  for (const { text } of canaries) {
    const body = { name: text.slice(0, 60) }
    const answer = await ask(daemon.address, 'POST', '/api/v1/tags', {
      token: daemon.owner(),
      body,
    })
    if (answer.status === 422) continue
    assert.deepEqual([answer.status, (answer.json as { error: string }).error], [500, 'internal'])
    assert(!answer.text.includes('room'))
  }
  assert(
    daemon.log.some((line) => line.includes('no room for')),
    'the log has the reason',
  )
  for (const canary of [...canaries, { name: 'its password', secrets: [password] }])
    assert.deepEqual(hitsIn(needlesOf(canary), daemon.log), [])
})

/** The end of an id that no row has. */
const ZEROS = '0'.repeat(26)

/** Returns all text of a request that a server received. */
const textOf = ({ method, url, headers, body }: Seen) =>
  `${method} ${url} ${Object.entries(headers)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(' ')} ${body}`

const refusing = (status: number, error: string) => (res: ServerResponse, text: string) =>
  json(
    res,
    status,
    { error, message: text, word: text, state: text },
    { 'X-Told': text.slice(0, 900) },
  )
const ECHOES: [name: string, answer: (res: ServerResponse, text: string) => unknown][] = [
  ['404 in its message', refusing(404, 'not_found')],
  ['422 in its message', refusing(422, 'validation_failed')],
  ['401 in its message', refusing(401, 'invalid_token')],
  ['500 in its message', refusing(500, 'internal')],
  ['502 in its message', refusing(502, 'backend_error')],
  ['504 in its message', refusing(504, 'backend_timeout')],
  ['HTML', (res, text) => res.writeHead(500, { 'Content-Type': 'text/html' }).end(text)],
  ['JSON of another form', (res, text) => json(res, 200, { [text]: text, token_id: text })],
  ['a redirect', (res) => res.writeHead(302, { Location: 'https://ada:x@example.org/' }).end()],
  ['no HTTP', (res, text) => res.socket?.end(`HTTP/1.1 ${text}\r\n\r\n`)],
]

describe('an account server that echoes the request', () => {
  for (const [name, answer] of ECHOES)
    it(name, async (t) => {
      const server = await scripted(t, (res, seen) => answer(res, textOf(seen)))
      const daemon = await startDaemon({ SVC_BACKEND_URL: server.base })
      t.after(() => daemon.close())
      const faults: string[] = []
      for (const canary of shaped()) {
        const machine = newToken('csm_')
        const own: Canary = { name: 'the machine’s token', text: machine, secrets: [machine] }
        const answers = [
          await ask(daemon.address, 'GET', `/api/v1/connections/con_${ZEROS}`, { token: machine }),
          await ask(daemon.address, 'PATCH', `/api/v1/tags/tag_${ZEROS}`, {
            token: machine,
            body: { name: canary.text },
          }),
          await ask(daemon.address, 'POST', '/local/v1/sign-in', {
            token: daemon.owner(),
            body: { email: 'ada@example.org', code: canary.text, name: canary.text },
          }),
        ]
        for (const one of [canary, own]) {
          const needles = needlesOf(one)
          faults.push(...hitsIn(needles, daemon.log).map((hit) => `log: ${hit}`))
          faults.push(
            ...hitsIn(
              needles,
              answers.map(({ text }) => text),
            ).map((hit) => `answer: ${hit}`),
          )
        }
      }
      assert(server.seen.length > 0, 'it was asked')
      assert.deepEqual([...new Set(faults)], [])
    })
})

test('a mail relay that echoes the mail and the password', async (t) => {
  const password = 'pass/word-of-relay'
  let received = ''
  const relay = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: (_, __, done) => done(null, { user: 'ada' }),
    onData: (stream, _, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        received = Buffer.concat(chunks).toString()
        const line = `no: ${received.replaceAll(/\s+/g, ' ')} ${password}`
        done(Object.assign(new Error(line), { responseCode: 550 }))
      })
    },
  })
  relay.on('error', () => undefined)
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => new Promise<void>((resolve) => relay.close(() => resolve())))
  const { port } = relay.server.address() as AddressInfo
  const daemon = await startDaemon({
    SVC_SMTP_URL: `smtp://ada:${encodeURIComponent(password)}@127.0.0.1:${port}`,
  })
  t.after(() => daemon.close())
  const secrets: Canary[] = [{ name: 'the password', text: password, secrets: [password] }]
  const answers: string[] = []
  const mails: [what: string, secret: RegExp, send: () => Promise<{ text: string }>][] = [
    [
      'a code',
      /\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\b/,
      () =>
        ask(daemon.accountAddress, 'POST', '/device/v1/sign-ins', {
          body: { email: 'ada@example.org' },
        }),
    ],
    [
      'a link to confirm',
      /(?<=\/confirm\/)[\w-]+/,
      () =>
        ask(daemon.address, 'POST', '/api/v1/emails', {
          token: daemon.owner(),
          body: { address: 'eve@example.org' },
        }),
    ],
    [
      'the link of a guest',
      /(?<=#)[\w-]{20,}/,
      async () => {
        const made = await ask(daemon.address, 'POST', '/api/v1/guest-codes', {
          token: daemon.owner(),
          body: { label: 'x' },
        })
        const { id } = made.json as { id: string }
        return ask(daemon.address, 'POST', `/api/v1/guest-codes/${id}/send`, {
          token: daemon.owner(),
          body: { channel: 'email', to: 'bob@example.org' },
        })
      },
    ],
  ]
  const reasons = () => daemon.log.filter((line) => line.includes('550 no:')).length
  for (const [n, [what, secret, send]] of mails.entries()) {
    received = ''
    answers.push((await send()).text)
    // Some are sent later, in the background.
    await until('the log of a rejected mail', () => reasons() > n)
    const text = received.replaceAll('=\r\n', '').replaceAll('=3D', '=')
    const found = secret.exec(text)?.[0] ?? assert.fail(`no ${what} in ${text}; ${answers.at(-1)}`)
    secrets.push({ name: what, text: found, secrets: [found] })
  }
  for (const one of secrets) {
    assert.deepEqual(hitsIn(needlesOf(one), daemon.log), [])
    assert.deepEqual(hitsIn(needlesOf(one), answers), [])
  }
})

test('an assistant endpoint that echoes its key', async (t) => {
  const key = `sk-${newToken('csd_').slice(4)}`
  const endpoint = await startEndpoint()
  t.after(() => endpoint.close())
  const file = join(freshFolder(t), 'key')
  writeFileSync(file, key, { mode: 0o600 })
  const daemon = await startDaemon({
    SVC_ASSISTANT_URL: endpoint.url,
    SVC_ASSISTANT_KEY_FILE: file,
  })
  t.after(() => daemon.close())
  const needles = needlesOf({ name: 'its key', secrets: [key] })
  for (const [, answer] of ECHOES) {
    endpoint.speak = (res, { method, path, headers, body }) =>
      answer(res, textOf({ method, url: path, headers, body }))
    const { text } = await ask(daemon.address, 'POST', '/api/v1/chat', {
      token: daemon.owner(),
      body: { message: 'Who are you?' },
    })
    assert.deepEqual(hitsIn(needles, [text, ...daemon.log]), [])
  }
  assert(endpoint.asked.length >= ECHOES.length)
})

describe('the command line', () => {
  const withPassword = (scheme: string) => (secret: string) => `${scheme}://ada:${secret}@`
  const settings: [name: string, value: (secret: string) => string, args?: string[]][] = [
    ['SVC_TOKEN', (it) => it, ['status']],
    ['SVC_BACKEND_URL', (it) => `${withPassword('https')(it)}example.org/`],
    ['SVC_PUBLIC_URL', (it) => `${withPassword('https')(it)}example.org`],
    ['SVC_DATABASE_URL', (it) => `${withPassword('mysql')(it)}127.0.0.1/x`],
    ['SVC_DATABASE_URL', (it) => `${withPassword('postgres')(it)}127.0.0.1:1/x`, ['server']],
    ['SVC_DATABASE_URL', (it) => `${withPassword('postgres')(it)}127.0.0.1:99999/x`, ['server']],
    ['SVC_SMTP_URL', (it) => `${withPassword('http')(it)}127.0.0.1`],
    ['SVC_SMTP_URL', (it) => `${withPassword('smtp')(it)}mail.example.org?x=1`],
    ['SVC_ASSISTANT_URL', (it) => `${withPassword('https')(it)}example.org/v1`],
    ['SVC_ASSISTANT_URL', (it) => `https://example.org/v1?key=${it}`],
    ['SVC_TOKENN', (it) => it],
  ]
  const secret = newToken('csd_').slice(4)
  const needles = needlesOf({ name: 'it', secrets: [secret] })
  for (const [name, value, args = ['status']] of settings)
    it(`${name}=${value('…')}`, async (t) => {
      const { code, out, err } = await terminal(freshFolder(t))(args, {
        env: { [name]: value(secret), SVC_LOG_LEVEL: 'debug' },
      })
      assert.notEqual(code, 0, out)
      assert.deepEqual(hitsIn(needles, [out, err]), [], err)
    })

  for (const [name, value] of settings)
    it(`doctor, with ${name}=${value('…')}`, async (t) => {
      const env = { [name]: value(secret) }
      for (const args of [['doctor'], ['doctor', '--json']]) {
        const { out, err } = await terminal(freshFolder(t))(args, { env })
        assert.notEqual(out, '', err)
        assert.deepEqual(hitsIn(needles, [out, err]), [], out + err)
      }
    })

  const inputs: [args: string[], input: (it: string) => string][] = [
    [['login', '--machine', '--key-file', '-'], (it) => JSON.stringify({ kty: 'OKP', d: it })],
    [['token', 'revoke', 'tok_x'], (it) => it],
  ]
  for (const [args, input] of inputs)
    it(`${args.join(' ')}, with the secret in a pipe`, async (t) => {
      const { out, err } = await terminal(freshFolder(t))(args, {
        input: input(secret),
        env: { SVC_LOG_LEVEL: 'debug' },
      })
      assert.deepEqual(hitsIn(needles, [out, err]), [], err)
    })

  it('an invalid key file', async (t) => {
    const dir = freshFolder(t)
    const file = join(dir, 'machine.jwk')
    writeFileSync(file, JSON.stringify({ kty: 'OKP', d: secret, [secret]: 1 }), { mode: 0o600 })
    const { code, out, err } = await terminal(freshFolder(t))([
      'machine',
      'token',
      '--key-file',
      file,
    ])
    assert.notEqual(code, 0)
    assert.deepEqual(hitsIn(needles, [out, err]), [], err)
  })
})
