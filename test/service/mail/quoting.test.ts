/**
 * Texts of other people in mails. For every text, mail programs make no link of it, and no line
 * of it looks like a line of the server.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { is } from 'valibot'
import { email } from '../../../src/api/fields.ts'
import { UNSHOWABLE } from '../../../src/crypto/encoding/quoted.ts'
import { LANGUAGES, type ReaderPreferences } from '../../../src/languages/languages.ts'
import type { OutgoingLetter } from '../../../src/service/mail/mailer.ts'
import * as fromOthers from '../../../src/service/mail/messages-from-others.ts'
import * as own from '../../../src/service/mail/messages.ts'
import { HOSTILE_NAMES } from '../../pages/hostile-names.ts'

const PUBLIC_URL = 'https://accounts.countersign.test'
const LINK = `${PUBLIC_URL}/confirm/${'x'.repeat(43)}`
const TO = 'reader@home.test'

type Name = keyof typeof fromOthers | keyof typeof own

type Letters = Readonly<Record<Name, (text: string, address: string) => OutgoingLetter>>

/** Every letter, with one text for all names and messages and one for all addresses. */
const lettersFor = (reader: ReaderPreferences): Letters => {
  const of = { to: TO, reader, publicUrl: PUBLIC_URL }
  return {
    codeMessage: () => own.codeMessage({ ...of, code: 'ABCD-EFGH', minutes: 15 }),
    deviceAddedMessage: (deviceName) => own.deviceAddedMessage({ ...of, deviceName }),
    recoveryKeyMessage: (deviceName) => own.recoveryKeyMessage({ ...of, deviceName }),
    resetMessage: (deviceName) => own.resetMessage({ ...of, deviceName, withKey: true }),
    webhookMessage: (text) =>
      own.webhookMessage({
        ...of,
        name: text,
        webhook: `whk_${'0'.repeat(26)}`,
        on: text,
        since: 0,
      }),
    confirmAddressMessage: (name, primary) =>
      own.confirmAddressMessage({
        ...of,
        name,
        primary,
        link: LINK,
        hours: 24,
      }),
    emailAddedMessage: (_, address) => own.emailAddedMessage({ ...of, address }),
    invitationMessage: (text, fromEmail) =>
      fromOthers.invitationMessage({
        ...of,
        from: text,
        fromEmail,
        connection: text,
        message: text,
        goodForMs: 3_600_000,
      }),
    orgInvitationMessage: (text, fromEmail) =>
      fromOthers.orgInvitationMessage({
        ...of,
        from: text,
        fromEmail,
        organisation: text,
      }),
    askedMessage: (text) =>
      fromOthers.askedMessage({
        ...of,
        name: text,
        owner: text,
        link: LINK,
        hours: 24,
      }),
    newRequestMessage: (text, email) =>
      fromOthers.newRequestMessage({
        ...of,
        name: text,
        email,
        title: text,
        waiting: 2,
      }),
    guestCodeMessage: (text, fromEmail) =>
      fromOthers.guestCodeMessage({
        ...of,
        from: text,
        fromEmail,
        link: LINK,
        until: Date.UTC(2026, 0, 1),
      }),
    orgAlertMessage: (text) =>
      fromOthers.orgAlertMessage({
        ...of,
        organisation: text,
        alert: text,
        event: 'member_suspended',
        threshold: 2,
        minutes: 5,
      }),
    feedbackMessage: (text, from) =>
      fromOthers.feedbackMessage({
        ...of,
        from,
        account: 'acc_01k9zq3v5w8x2y4z6a8b0c2d4e',
        category: 'praise',
        message: text,
        version: '1-2-3',
      }),
  }
}

const READERS = LANGUAGES.map((language) => ({ language, timeZone: 'Europe/Zurich' }))

/** Texts that mail programs turn into links: schemes, hosts, and addresses. */
const LINKS = /[a-z][a-z0-9+.-]*:[^\s"“]|www\.\S|[^\s@]@[a-z0-9]|[^\s.]\.[a-z0-9]|\/\/\S/giu

/** Returns the parts of a mail that look like links and are not the server’s own. */
const linksIn = ({ text }: OutgoingLetter): string[] =>
  text.replaceAll(LINK, '').replaceAll(PUBLIC_URL, '').match(LINKS) ?? []

/** Returns the number of lines that a reader attributes to the server. */
const ownLines = ({ text }: OutgoingLetter): number =>
  text.split('\n').filter((line) => !/^(?: {4}\||>) /.test(line)).length

const ADDRESSES = [
  '//evil.example/?@x.org',
  'www.evil.example@x.org',
  'evil.example/login?a=b#c@x.org',
  "'evil.example'@x.org",
  'a=b&c@x.org',
  '{evil}`x`|~@x.org',
]

const PIECES = [
  'https://evil.example/x',
  'http:',
  '//evil.example',
  'www.evil.example',
  'evil.example',
  'mailto:a@evil.example',
  'javascript:alert(1)',
  'a@evil.example',
  '\\\\evil\\share',
  'evil\u3002example',
  'evil\uff0eexample\uff0fx',
  '\u202ehttps',
  '\u200b',
  '"',
  '<a href=x>',
  '\n',
  '\r\n\r\n',
  '\u2028',
  'If it was not you, open',
  ' ',
  'Ada',
  '\ud800',
]

/** Returns texts made of these pieces, the same in each run. */
function* texts(count: number): Generator<string> {
  let seed = 20
  const next = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
  yield* PIECES
  for (let i = 0; i < count; i++)
    yield Array.from({ length: 1 + next(8) }, () => PIECES[next(PIECES.length)]).join('')
}

describe('texts of other people in every letter', () => {
  it('the tests cover every letter', () => {
    assert.deepEqual(
      [...Object.keys(own), ...Object.keys(fromOthers)].toSorted(),
      Object.keys(lettersFor(READERS[0]!)).toSorted(),
    )
  })

  const letters = READERS.flatMap((reader) =>
    Object.entries(lettersFor(reader)).map(
      ([name, letter]) => [`${name} (${reader.language.tag})`, letter] as const,
    ),
  )
  for (const [name, letter] of letters) {
    const plain = letter('Ada', 'ada@home.test')

    it(`${name}: contains nothing that a mail program turns into a link`, () => {
      const address = 'x/y@home.test'
      // The operator gets feedback unchanged.
      for (const text of name.startsWith('feedbackMessage') ? ['Ada'] : texts(300)) {
        const mail = letter(text, address)
        assert.deepEqual(linksIn(mail), [], JSON.stringify(text))
        assert.equal(mail.subject, plain.subject)
      }
      for (const hostile of ADDRESSES) {
        assert(is(email, hostile), hostile)
        assert.deepEqual(linksIn(letter('Ada', hostile)), [], hostile)
      }
    })

    it(`${name}: contains no line that looks like the server's own`, () => {
      for (const text of texts(300))
        assert.equal(ownLines(letter(text, 'a@b.c')), ownLines(plain), JSON.stringify(text))
    })
  }

  for (const [kind, name] of Object.entries(HOSTILE_NAMES))
    it(`a name with ${kind} is short, and controls nothing`, () => {
      for (const [letter, make] of letters) {
        // The operator gets feedback unchanged.
        if (letter.startsWith('feedbackMessage')) continue
        const [mail, plain] = [make(name, 'a@b.c'), make('Ada', 'a@b.c')]
        assert.doesNotMatch(mail.subject + mail.text, new RegExp(`(?!\\n)[${UNSHOWABLE}]`, 'u'))
        assert.doesNotMatch(mail.text, /\p{M}{5}/u)
        assert(mail.text.length < plain.text.length + 3000, `${letter}: ${mail.text.length}`)
        const most = Math.max(...mail.text.split('\n').map((line) => Array.from(line).length))
        assert(most < 1000, `${letter}: ${most}`)
      }
    })

  it('a plain address of another person stays readable', () => {
    for (const address of ['ada@example.org', 'ada.l+x_1@mail.example.org'])
      for (const name of [
        'invitationMessage',
        'confirmAddressMessage',
        'emailAddedMessage',
      ] as const)
        assert(
          lettersFor(READERS[0]!)[name]('Ada', address).text.includes(`\n    ${address}\n`),
          name,
        )
  })
})
