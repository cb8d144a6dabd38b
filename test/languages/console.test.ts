/** The catalogues of the console: translated, with typographic marks, and each message is used. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openapiDocument } from '../../src/api/openapi/document.ts'
import { rest } from '../../src/api/rest/index.ts'
import { NotificationKind } from '../../src/api/rest/notifications.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import { CONSOLE_LANGUAGES } from '../../src/languages/console/languages.ts'
import type { ConsoleMessages } from '../../src/languages/console/translation.ts'
import type { MessageSource } from '../../src/languages/message.ts'

type Message = readonly [group: string, key: string, message: MessageSource]

const messagesOf = (all: ConsoleMessages): Message[] =>
  Object.entries(all).flatMap(([group, messages]) =>
    Object.entries(messages as unknown as Readonly<Record<string, MessageSource>>).map(
      ([key, message]): Message => [group, key, message],
    ),
  )

const textsOf = (message: MessageSource): string[] =>
  typeof message === 'string' ? [message] : Object.values(message)

const languages = await Promise.all(
  CONSOLE_LANGUAGES.map(async ({ tag, locale, load }) => ({
    tag,
    locale,
    messages: messagesOf(await load()),
  })),
)
const [english] = languages

/** Single words may be equal in two languages. */
const HAS_WORDS = /\p{L} \p{L}/u

/** Returns the messages that are equal in English. */
const untranslated = (messages: readonly Message[]) =>
  messages.filter(([group, key, message]) => {
    const [, , source] = english!.messages.find(([g, k]) => g === group && k === key)!
    return textsOf(message).some(
      (text) => HAS_WORDS.test(text.replaceAll(/\{\w+\}/g, '')) && textsOf(source).includes(text),
    )
  })

for (const { tag, locale, messages } of languages) {
  test(`${tag}: every message of the console is translated`, () => {
    if (tag === english!.tag) return
    assert.deepEqual(untranslated(messages), [])
  })

  test(`${tag}: every plural of the console has the forms of the language`, () => {
    const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions()
    for (const [group, key, message] of messages)
      if (typeof message !== 'string')
        assert.deepEqual(
          Object.keys(message).toSorted(),
          pluralCategories.toSorted(),
          `${group}.${key}`,
        )
  })

  test(`${tag}: texts of the console have typographic marks and no spaces too many`, () => {
    for (const [group, key, message] of messages)
      for (const text of textsOf(message)) {
        assert.doesNotMatch(text, /["']|\.\.\.|\s$|^\s|\s\s/, `${group}.${key}`)
        const foreign = tag === 'de' ? /[”‚‘’]|“(?=\p{L})/u : /[„‚‘]/u
        assert.doesNotMatch(text, foreign, `${group}.${key}`)
      }
  })
}

const SOURCE = globSync('src/console/**/*.{ts,tsx}')
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n')

/** Returns patterns of the keys that the console makes from values: ``texts[`role_${role}`]``. */
function madeKeys(names: readonly string[]): RegExp[] {
  const made = new RegExp(
    String.raw`\b(?:${names.join('|')})(?:\?\.)?\[${'`'}([^${'`'}]+)${'`'}\]`,
    'g',
  )
  return [...SOURCE.matchAll(made)].map(
    ([, template]) => new RegExp(`^${template!.replaceAll(/\$\{[^}]+\}/g, '.+')}$`),
  )
}

test('every message of the console is used', () => {
  const api = JSON.stringify([
    openapiDocument({ table: rest, version: '0.0.0', need: scopeTable(REST_RULES) }),
    // The document has them only in a description.
    NotificationKind.options,
  ])
  const unused = english!.messages.filter(([group, key]) => {
    // A module may name its group differently: `const { organisation: texts } = messages()`.
    const others = SOURCE.matchAll(
      new RegExp(String.raw`\b${group}: (\w+)\b[^;]*?= messages\(\)`, 'g'),
    )
    const names = [...new Set([group, ...Array.from(others, ([, name]) => name!)])]
    const named = new RegExp(String.raw`\b(?:${names.join('|')})\.${key}\b`)
    if (named.test(SOURCE) || madeKeys(names).some((pattern) => pattern.test(key))) return false
    // By a variable: its values are in the source or in the document of the API.
    const isIndexed = new RegExp(String.raw`\b(?:${names.join('|')})\[\w`).test(SOURCE)
    const isValue = new RegExp(String.raw`'${key}'|\b${key}: `).test(SOURCE)
    return !(isIndexed && (isValue || api.includes(`"${key}"`)))
  })
  assert.deepEqual(
    unused.map(([group, key]) => `${group}.${key}`),
    [],
  )
})

test('each kind of notification has a title, or is a decision with a title of its own', () => {
  const titles = english!.messages.flatMap(([group, key]) => (group === 'notifications' ? key : []))
  assert.deepEqual(
    NotificationKind.options.filter((kind) => !titles.includes(kind)),
    ['invitation_received', 'open_link_request', 'guest_code_ending'],
  )
})
