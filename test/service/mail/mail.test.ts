/** Outgoing mail: its text, and delivery into a folder. For relays see relay.test.ts. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type MailPlace, openMail } from '../../../src/service/mail/mail.ts'
import { type OutgoingLetter } from '../../../src/service/mail/mailer.ts'
import {
  askedMessage,
  guestCodeMessage,
  invitationMessage,
  newRequestMessage,
  orgAlertMessage,
  orgInvitationMessage,
} from '../../../src/service/mail/messages-from-others.ts'
import {
  codeMessage,
  confirmAddressMessage,
  deviceAddedMessage,
  emailAddedMessage,
  recoveryKeyMessage,
  resetMessage,
  webhookMessage,
} from '../../../src/service/mail/messages.ts'
import { ANY_READER, LANGUAGES } from '../../../src/languages/languages.ts'
import { codeIn, letterOf, type Letter } from '../letters.ts'

const folder = await mkdtemp(join(tmpdir(), 'countersign-mail-test-'))
after(() => rmSync(folder, { recursive: true }))

const PUBLIC_URL = 'https://accounts.example.org'
const FROM = 'Countersign <accounts@example.org>'
const NOW = Date.UTC(2026, 0, 1, 12, 30, 15, 123)
const message: OutgoingLetter = {
  to: 'ada@example.org',
  language: 'en',
  subject: 'Hello',
  text: 'One\nTwo\n',
}

const mailTo = (place: MailPlace, now = () => NOW) => openMail({ place, from: FROM, now })

let folders = 0
const newDir = () => join(folder, `mail-${(folders += 1)}`)

test('a mail file is whole, private, and named by its time', async () => {
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

test('a mail file reads back unchanged', async () => {
  const dir = newDir()
  const text =
    'Grüße, Ada.\n.\nFrom the top: a line that is longer than the seventy-six characters of quoting = “x”\n'
  await mailTo({ dir }).send({ to: 'ada@example.org', language: 'de', subject: 'Grüße', text })
  const [name = ''] = readdirSync(dir)
  const letter = letterOf(readFileSync(join(dir, name)))
  assert.deepEqual(
    [letter.from, letter.to, letter.subject, letter.text],
    [FROM, 'ada@example.org', 'Grüße', text],
  )
  assert.equal(letter.headers.get('date'), 'Thu, 01 Jan 2026 12:30:15 +0000')
  assert.equal(letter.headers.get('auto-submitted'), 'auto-generated')
  assert.equal(letter.headers.get('content-language'), 'de')
  assert.match(letter.headers.get('message-id') ?? '', /^<.+@example\.org>$/)
})

test('letters name the sender, the reason and the next step, and no subject contains a code', () => {
  const to = 'ada@example.org'
  const code = 'ABCD-EFGH-JKMN-PQRS'
  const device = { to, deviceName: 'laptop 2', publicUrl: PUBLIC_URL, reader: ANY_READER }
  const letters = [
    codeMessage({ to, code, minutes: 15, publicUrl: PUBLIC_URL, reader: ANY_READER }),
    deviceAddedMessage(device),
    recoveryKeyMessage(device),
    resetMessage({ ...device, withKey: true }),
    resetMessage({ ...device, withKey: false }),
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

test('the lines of every German letter fit a narrow window', () => {
  const reader = { language: LANGUAGES.find(({ tag }) => tag === 'de')!, timeZone: 'UTC' }
  const of = { to: 'ada@example.org', publicUrl: PUBLIC_URL, reader }
  const device = { ...of, deviceName: 'laptop 2' }
  const link = `${PUBLIC_URL}/confirm/${'x'.repeat(43)}`
  const person = { from: 'Bob', fromEmail: 'bob@example.org' }
  const letters = [
    codeMessage({ ...of, code: 'ABCD-EFGH-JKMN-PQRS', minutes: 15 }),
    deviceAddedMessage(device),
    recoveryKeyMessage(device),
    resetMessage({ ...device, withKey: true }),
    resetMessage({ ...device, withKey: false }),
    confirmAddressMessage({ ...of, name: 'Bob', primary: null, link, hours: 24 }),
    emailAddedMessage({ ...of, address: 'bob@example.org' }),
    webhookMessage({ ...of, name: 'hook', webhook: `whk_${'0'.repeat(26)}`, on: 'x', since: NOW }),
    invitationMessage({ ...of, ...person, connection: 'B', message: 'Hi', goodForMs: 3.6e8 }),
    orgInvitationMessage({ ...of, ...person, organisation: 'Org' }),
    askedMessage({ ...of, name: 'Bob', owner: 'Ada', link, hours: 24 }),
    newRequestMessage({ ...of, name: 'B', email: 'b@example.org', title: 'Desk', waiting: 12 }),
    guestCodeMessage({ ...of, ...person, link, until: NOW }),
    ...(['verification', 'group_members_removed'] as const).map((event) =>
      orgAlertMessage({ ...of, organisation: 'O', alert: 'A', event, threshold: 12, minutes: 60 }),
    ),
  ]
  const lines = letters.flatMap(({ text }) => text.split('\n'))
  assert.deepEqual(
    lines.filter((line) => line.length > 78 && !line.includes(link)),
    [],
  )
})

test('the letter about a recovery key explains that contacts confirm the keys of a reset without it', () => {
  const { text } = recoveryKeyMessage({
    to: 'ada@x',
    deviceName: 'laptop',
    publicUrl: PUBLIC_URL,
    reader: ANY_READER,
  })
  const [ifYou, ifNot] = text.replaceAll(/\s+/g, ' ').split('If it was not you,')
  assert.match(
    ifYou!,
    /can replace all your devices\. Your contacts then do not have to confirm the new keys\./,
  )
  assert.match(
    ifNot!,
    /without a recovery key\..* compare the safety number with each contact\. Until a contact confirms your new keys, the device of that contact accepts a reset with those words\. $/,
  )
})

test('the letter about a reset with the recovery key names the contacts who still have to confirm it', () => {
  const of = { to: 'ada@x', deviceName: 'laptop', publicUrl: PUBLIC_URL, reader: ANY_READER }
  const { text } = resetMessage({ ...of, withKey: true })
  assert.match(
    text.replaceAll(/\s+/g, ' '),
    /accepted keys that belong to this recovery key do not have to confirm you again\. All others have to\./,
  )
})
