/** Outgoing mail through real relays on loopback: working ones, faulty ones, and none. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { relayOf } from '../../../src/config/relay.ts'
import { AppError } from '../../../src/errors.ts'
import { openMail } from '../../../src/service/mail/mail.ts'
import { type OutgoingLetter } from '../../../src/service/mail/mailer.ts'
import { mailBySmtp } from '../../../src/service/mail/smtp.ts'
import { letterOf, type Letter } from '../letters.ts'
import { freePort } from '../../free-port.ts'

const FROM = 'Countersign <accounts@example.org>'
const message: OutgoingLetter = {
  to: 'ada@example.org',
  language: 'en',
  subject: 'Hello',
  text: 'One\nTwo\n',
}
const PASSWORD = 'hunter2-hunter2'
const ENCODED = Buffer.from(`\0ada\0${PASSWORD}`).toString('base64')

const mailBy = (smtp: string) => openMail({ place: { smtp }, from: FROM, now: () => 0 })

/**
 * Starts a relay on loopback, without TLS. Returns its port and the mails and logins that it
 * received.
 */
async function relay(t: TestContext, options: SMTPServerOptions = {}) {
  const given: { from: string; to: string[]; letter: Letter; secure: boolean }[] = []
  const logins: unknown[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _, done) => {
      logins.push([username, password])
      done(null, { user: username })
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        given.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          letter: letterOf(Buffer.concat(chunks)),
          secure: session.secure,
        })
        done()
      })
    },
    ...options,
  })
  // Some tests are about a client that disconnects in the middle.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, given, logins }
}

/** Checks that a mail is not sent, the error of the caller, and the cause for the log. */
async function refused(sent: Promise<unknown>, code: string, words: RegExp): Promise<void> {
  const error = await sent.then(
    () => assert.fail('it was sent'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof AppError, String(error))
  assert.equal(error.code, code, String(error.cause))
  assert.match(error.message, words)
  assert.doesNotMatch(error.message, /127\.0\.0\.1|\d{3}/)
  const { cause } = error
  // A line of text: an error would include its stack.
  assert.ok(typeof cause === 'string' && cause !== '')
  for (const secret of [PASSWORD, ENCODED]) assert.ok(!`${error.message} ${cause}`.includes(secret))
}

const NOW_NOT = /could not be sent at the moment. Try again later/
const NEVER = /relay refused it\. Check the address.*operator.*log/

test('sends with its user and password', async (t) => {
  const { port, given, logins } = await relay(t, { authOptional: false })
  const mail = mailBy(`smtp://ada%40example.org:p%40ss%2Fword@127.0.0.1:${port}`)
  await mail.send(message)
  await mail.send({ ...message, to: "o'hara+x@example.org" })
  assert.deepEqual(logins, Array(2).fill(['ada@example.org', 'p@ss/word']))
  assert.deepEqual(
    given.map(({ from, to }) => [from, to]),
    [
      ['accounts@example.org', ['ada@example.org']],
      ['accounts@example.org', ["o'hara+x@example.org"]],
    ],
  )
  const { subject, text } = given[0]!.letter
  assert.deepEqual([subject, text.trimEnd()], ['Hello', 'One\nTwo'])
})

const answering = (responseCode: number) => Object.assign(new Error('said'), { responseCode })
const quoting = (responseCode: number) =>
  Object.assign(new Error(`no ${PASSWORD} nor ${ENCODED} for ada`), { responseCode })

const answers: [string, SMTPServerOptions, code: string, words: RegExp][] = [
  [
    'refuses the password, and quotes it',
    { authOptional: false, onAuth: (_, __, done) => done(quoting(535)) },
    'backend_error',
    NEVER,
  ],
  [
    'cannot check the password now',
    { authOptional: false, onAuth: (_, __, done) => done(quoting(454)) },
    'backend_unavailable',
    NOW_NOT,
  ],
  [
    'has no such mailbox',
    { onRcptTo: (_, __, done) => done(answering(550)) },
    'backend_error',
    NEVER,
  ],
  [
    'wants to see the sender again later',
    { onRcptTo: (_, __, done) => done(answering(451)) },
    'backend_unavailable',
    NOW_NOT,
  ],
  [
    'refuses this sender',
    { onMailFrom: (_, __, done) => done(answering(553)) },
    'backend_error',
    NEVER,
  ],
  [
    'has no room now',
    { onMailFrom: (_, __, done) => done(answering(452)) },
    'backend_unavailable',
    NOW_NOT,
  ],
]
for (const [what, options, code, words] of answers)
  test(`one that ${what}`, async (t) => {
    const { port, given } = await relay(t, options)
    await refused(mailBy(`smtp://ada:${PASSWORD}@127.0.0.1:${port}`).send(message), code, words)
    assert.deepEqual(given, [])
  })

test('one that hangs up, and one that is not running, count as outages', async (t) => {
  const hangingUp = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => hangingUp.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => hangingUp.close())
  for (const port of [(hangingUp.address() as AddressInfo).port, await freePort()]) {
    const mail = mailBy(`smtp://ada:${PASSWORD}@127.0.0.1:${port}`)
    await refused(mail.send(message), 'backend_unavailable', NOW_NOT)
  }
})

test('one that never stops sending is cut off in time', async (t) => {
  const left = Promise.withResolvers<void>()
  const dripping = createServer((socket) => {
    socket.on('error', () => undefined)
    t.after(() => socket.destroy())
    socket.write('220 relay.example\r\n')
    socket.once('data', () => {
      const drip = setInterval(() => socket.write('250-and\r\n'), 5)
      socket.once('close', () => {
        clearInterval(drip)
        left.resolve()
      })
    })
  })
  await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => dripping.close())
  const smtp = `smtp://ada:${PASSWORD}@127.0.0.1:${(dripping.address() as AddressInfo).port}`
  const mail = mailBySmtp({ relay: relayOf(smtp), from: FROM, now: () => 0 }, 300)
  await refused(mail.send(message), 'backend_unavailable', NOW_NOT)
  await left.promise
})

describe('TLS', () => {
  let folder: string
  let tls: { key: string; cert: string }
  const known = getCACertificates('default')
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-relay-'))
    const made =
      '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=relay -addext subjectAltName=IP:127.0.0.1'
    execFileSync('openssl', `req -x509 ${made} -keyout k.pem -out c.pem`.split(' '), {
      stdio: 'pipe',
      cwd: folder,
    })
    const pem = (name: string) => readFileSync(join(folder, name), 'utf8')
    tls = { key: pem('k.pem'), cert: pem('c.pem') }
  })
  after(() => rmSync(folder, { recursive: true }))

  const urlOf = (port: number, option: string) =>
    `smtp://ada:${PASSWORD}@127.0.0.1:${port}${option}`

  test('required, and not offered: nothing is sent in the clear', async (t) => {
    const { port, given, logins } = await relay(t)
    const sent = mailBy(urlOf(port, '?requireTLS=true')).send(message)
    await refused(sent, 'backend_error', NEVER)
    assert.deepEqual([given, logins], [[], []])
  })

  test('required, with an untrusted certificate: nothing is sent', async (t) => {
    const { port, given, logins } = await relay(t, { ...tls, disabledCommands: [] })
    const sent = mailBy(urlOf(port, '?requireTLS=true')).send(message)
    await refused(sent, 'backend_unavailable', NOW_NOT)
    assert.deepEqual([given, logins], [[], []])
  })

  test('required, with a valid certificate: password and mail are sent', async (t) => {
    const { port, given, logins } = await relay(t, { ...tls, disabledCommands: [] })
    setDefaultCACertificates([...known, tls.cert])
    t.after(() => setDefaultCACertificates(known))
    await mailBy(urlOf(port, '?requireTLS=true')).send(message)
    assert.deepEqual(logins, [['ada', PASSWORD]])
    assert.deepEqual(
      given.map(({ secure }) => secure),
      [true],
    )
  })

  test('offered on this machine with an untrusted certificate, and not required', async (t) => {
    const { port, given } = await relay(t, { ...tls, disabledCommands: [] })
    await mailBy(`smtp://127.0.0.1:${port}`).send(message)
    assert.deepEqual(
      given.map(({ secure }) => secure),
      [false],
    )
  })

  test('from the first byte', async (t) => {
    const { port, given } = await relay(t, { ...tls, secure: true })
    const mail = mailBy(`smtps://ada:${PASSWORD}@127.0.0.1:${port}`)
    await refused(mail.send(message), 'backend_unavailable', NOW_NOT)
    setDefaultCACertificates([...known, tls.cert])
    t.after(() => setDefaultCACertificates(known))
    await mail.send(message)
    assert.deepEqual(
      given.map(({ secure }) => secure),
      [true],
    )
  })
})
