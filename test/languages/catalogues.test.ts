/** The catalogues: translated, with every plural form, and with the typography of the language. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENGLISH, LANGUAGES, messageText, timeText } from '../../src/languages/languages.ts'
import type { MessageSource } from '../../src/languages/message.ts'

/** Messages that are equal in English and in another language, by language. */
const EQUAL: Readonly<Record<string, readonly string[]>> = {
  de: ['stampScript.name', 'openLink.headed'],
}

const isLetter = (name: string) => /^letters\.|Letter\./.test(name)

/** Returns the messages of a language, by the names of their groups and keys. */
const messagesOf = ({ messages }: (typeof LANGUAGES)[number]): [name: string, MessageSource][] =>
  Object.entries(messages).flatMap(([group, all]) =>
    Object.entries(all as Readonly<Record<string, MessageSource>>).map(
      ([key, message]): [string, MessageSource] => [`${group}.${key}`, message],
    ),
  )

const textsOf = (message: MessageSource): string[] =>
  typeof message === 'string' ? [message] : Object.values(message)

const ENGLISH_MESSAGES = new Map(messagesOf(ENGLISH))

for (const language of LANGUAGES) {
  const { tag, locale } = language
  const messages = messagesOf(language)

  test(`${tag}: every message is translated`, () => {
    if (language === ENGLISH) return
    const equal = messages.filter(([name, message]) =>
      textsOf(message).some((text) => textsOf(ENGLISH_MESSAGES.get(name)!).includes(text)),
    )
    assert.deepEqual(
      equal.map(([name]) => name),
      EQUAL[tag] ?? [],
    )
  })

  test(`${tag}: every plural has the forms of the language`, () => {
    const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions()
    for (const [name, message] of messages)
      if (typeof message !== 'string')
        assert.deepEqual(Object.keys(message).toSorted(), pluralCategories.toSorted(), name)
  })

  test(`${tag}: this Node has the data of the language`, () => {
    assert.deepEqual(Intl.DateTimeFormat.supportedLocalesOf([locale]), [locale])
    assert.deepEqual(Intl.PluralRules.supportedLocalesOf([locale]), [locale])
  })

  test(`${tag}: texts have no spaces too many, and pages have typographic marks`, () => {
    for (const [name, message] of messages)
      for (const text of textsOf(message)) {
        if (!isLetter(name)) {
          assert.doesNotMatch(text, /["']|\.\.\.|\s$|^\s|\s\s/, name)
          assert.doesNotMatch(text, tag === 'de' ? /[”‚‘’]|“(?=\p{L})/u : /[„‚‘]/u, name)
        }
        assert.doesNotMatch(text.replaceAll(/\n */g, '\n'), / {2}| $| \n/, name)
      }
  })
}

test('numbers and plural forms follow the language', () => {
  const cases = LANGUAGES.map((language) =>
    [0, 1, 2, 1234].map((count) =>
      messageText(language, language.messages.stampScript.bytes, { count }),
    ),
  )
  assert.deepEqual(cases, [
    ['0 bytes', '1 byte', '2 bytes', '1,234 bytes'],
    ['0 Bytes', '1 Byte', '2 Bytes', '1.234 Bytes'],
  ])
})

test('times follow the language and the time zone, also at the change to summer time', () => {
  const at = Date.UTC(2026, 2, 29, 0, 30)
  const times = LANGUAGES.flatMap((language) =>
    ['UTC', 'Europe/Zurich', 'America/New_York'].flatMap((timeZone) =>
      [at, at + 3_600_000].map((ms) => timeText({ language, timeZone }, ms)),
    ),
  )
  assert.deepEqual(times, [
    '29 March 2026 at 00:30 UTC',
    '29 March 2026 at 01:30 UTC',
    '29 March 2026 at 01:30 CET',
    '29 March 2026 at 03:30 CEST',
    '28 March 2026 at 20:30 GMT-4',
    '28 March 2026 at 21:30 GMT-4',
    '29. März 2026 um 00:30 UTC',
    '29. März 2026 um 01:30 UTC',
    '29. März 2026 um 01:30 MEZ',
    '29. März 2026 um 03:30 MESZ',
    '28. März 2026 um 20:30 GMT-4',
    '28. März 2026 um 21:30 GMT-4',
  ])
})

test('a value is not searched for placeholders', () => {
  const { title } = ENGLISH.messages.guest
  assert.equal(
    messageText(ENGLISH, title, { owner: '{owner} {x} $&' }),
    'Calls with {owner} {x} $&',
  )
})
