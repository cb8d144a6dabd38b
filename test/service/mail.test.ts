/** Outgoing mail: into a folder, and through a real relay on loopback. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { AppError } from '../../src/errors.ts'
import { openMail, type MailPlace, type Message } from '../../src/service/mail/mail.ts'
import { codeMessage, deviceAddedMessage, resetMessage } from '../../src/service/mail/messages.ts'
import { openService } from '../../src/service/service.ts'
import { openServiceDatabase } from './database.ts'
import { codeIn, letterOf, type Letter } from './letters.ts'
import { freePort } from './postgres.ts'

const folder = await mkdtemp(join(tmpdir(), 'countersign-mail-test-'))
after(() => rmSync(folder, { recursive: true }))

const PUBLIC_URL = 'https://accounts.example.org'
const FROM = 'Countersign <accounts@example.org>'
const NOW = Date.UTC(2026, 0, 1, 12, 30, 15, 123)
const message: Message = { to: 'ada@example.org', subject: 'Hello', text: 'One\nTwo\n' }

const mailTo = (place: MailPlace, now = () => NOW) => openMail({ place, from: FROM, now })

let folders = 0
const newDir = () => join(folder, `mail-${(folders += 1)}`)

/** A relay on loopback. Answers its URL, and what it was given. */
async function relay(t: TestContext, options: SMTPServerOptions = {}) {
  const given: { from: string; to: string[]; letter: Letter }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        given.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          letter: letterOf(Buffer.concat(chunks)),
        })
        done()
      })
    },
    ...options,
  })
  // A client that goes away in the middle is what some tests are about.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, given }
}

/** What a caller is told, and what the log is. */
async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => assert.fail('it was sent'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof AppError, String(error))
  assert.equal(error.code, 'backend_unavailable')
  assert.match(error.message, /mail could not be sent/)
  const { cause } = error
  assert.ok(cause instanceof Error)
  return { told: error.message, logged: `${cause.message} ${cause.stack}` }
}

test('a file: whole, private, named by its time', async () => {
  const dir = newDir()
  const clock = { ms: NOW }
  const mail = mailTo({ dir }, () => clock.ms)
  assert.throws(() => statSync(dir), { code: 'ENOENT' })
  for (const ms of [NOW, NOW, NOW, NOW + 1, NOW + 86_400_000]) {
    clock.ms = ms
    await mail.send({ ...message, subject: `No. ${readdirSync(folder).length} at ${ms}` })
  }
  const names = readdirSync(dir)
  assert.equal(names.length, 5)
  for (const name of names) {
    assert.match(name, /^2026-01-0[12]T12-30-15-12[34]Z-[0-9a-z]+\.eml$/)
    assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600)
  }
  assert.equal(statSync(dir).mode & 0o777, 0o700)
  const subjects = names.sort().map((name) => letterOf(readFileSync(join(dir, name))).subject)
  assert.deepEqual(
    subjects.map((subject) => Number(subject.split(' at ')[1])),
    [NOW, NOW, NOW, NOW + 1, NOW + 86_400_000],
  )
})

test('a file reads back as what was sent', async () => {
  const dir = newDir()
  const text =
    'Grüße, Ada.\n.\nFrom the top: a line that is longer than the seventy-six characters of quoting = “x”\n'
  await mailTo({ dir }).send({ to: 'ada@example.org', subject: 'Grüße', text })
  const [name = ''] = readdirSync(dir)
  const letter = letterOf(readFileSync(join(dir, name)))
  assert.deepEqual(
    [letter.from, letter.to, letter.subject, letter.text],
    [FROM, 'ada@example.org', 'Grüße', text],
  )
  assert.equal(letter.headers.get('date'), 'Thu, 01 Jan 2026 12:30:15 +0000')
  assert.equal(letter.headers.get('auto-submitted'), 'auto-generated')
  assert.match(letter.headers.get('message-id') ?? '', /^<.+@example\.org>$/)
})

test('letters say who writes, why, and what to do; none has its code in the subject', () => {
  const to = 'ada@example.org'
  const code = 'ABCD-EFGH-JKMN-PQRS'
  const device = { to, deviceName: 'laptop 2', publicUrl: PUBLIC_URL }
  const letters = [
    codeMessage({ to, code, minutes: 15, publicUrl: PUBLIC_URL }),
    deviceAddedMessage(device),
    resetMessage(device),
  ]
  for (const letter of letters) {
    assert.equal(letter.to, to)
    assert.ok(letter.text.includes(PUBLIC_URL))
    assert.match(letter.text, /\nIf it was not/)
    assert.ok(!letter.subject.includes(code))
    assert.ok(letter.text.split('\n').every((line) => line.length <= 78))
  }
  assert.equal(codeIn({ text: letters[0]!.text } as Letter), code)
  for (const letter of letters.slice(1)) assert.ok(letter.text.includes('"laptop 2"'))
})

test('through a relay, with its user and password', async (t) => {
  const logins: unknown[] = []
  const { port, given } = await relay(t, {
    authOptional: false,
    onAuth: ({ username, password }, _, done) => {
      logins.push([username, password])
      done(null, { user: username })
    },
  })
  const mail = mailTo({ smtp: `smtp://ada%40example.org:p%40ss%2Fword@127.0.0.1:${port}` })
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
  assert.deepEqual(
    [given[0]?.letter.subject, given[0]?.letter.text.trimEnd()],
    ['Hello', 'One\nTwo'],
  )
})

test('a relay that refuses, quotes the password, is silent or is not there', async (t) => {
  const password = 'hunter2-hunter2'
  const encoded = Buffer.from(`\0ada\0${password}`).toString('base64')
  const quoting = await relay(t, {
    authOptional: false,
    onAuth: (_, __, done) => done(new Error(`no ${password} nor ${encoded} for ada`)),
  })
  const full = await relay(t, { onRcptTo: (_, __, done) => done(new Error('mailbox full')) })
  const hangingUp = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => hangingUp.listen(0, '127.0.0.1', () => resolve()))
  t.after(() => hangingUp.close())
  const ports = [
    quoting.port,
    full.port,
    (hangingUp.address() as AddressInfo).port,
    await freePort(),
  ]
  for (const port of ports) {
    const mail = mailTo({ smtp: `smtp://ada:${password}@127.0.0.1:${port}` })
    const { told, logged } = await refusal(mail.send(message))
    for (const secret of [password, encoded]) assert.ok(!`${told} ${logged}`.includes(secret))
    assert.ok(!told.includes('127.0.0.1'))
  }
})

test('a code that could not be sent does not count', async (t) => {
  const file = join(folder, 'account.db')
  const { port, given } = await relay(t)
  const relays = { smtp: `smtp://127.0.0.1:${await freePort()}` }
  const of = { url: null, file, publicUrl: () => PUBLIC_URL, version: '1', now: () => NOW }
  const away = await openService({ ...of, mail: relays, from: FROM, log: () => undefined })
  const body = { email: 'ada@example.org' }
  for (let i = 0; i < 7; i++) await refusal(away.door({ key: null }).signIns.create({ body }))
  const { db, close } = await openServiceDatabase({ url: null, file })
  assert.deepEqual(await db.selectFrom('enrolment_codes').selectAll().execute(), [])
  await close()
  await away.close()
  const there = await openService({
    ...of,
    mail: { smtp: `smtp://127.0.0.1:${port}` },
    from: FROM,
    log: () => undefined,
  })
  const door = there.door({ key: null })
  await door.signIns.create({ body })
  const code = codeIn(given[0]!.letter)
  assert.deepEqual(await door.signIns.read({ body: { code } }), { account_id: null, key_log: [] })
  await there.close()
})
