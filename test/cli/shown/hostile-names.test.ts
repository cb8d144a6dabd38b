/**
 * Hostile names in what commands print for people: no name controls the terminal, begins a line,
 * ends its quotation, or pushes the other lines away.
 *
 * The API of these tests answers with the recorded examples, in which each text that another person
 * could choose is hostile.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EVENT_TYPES } from '../../../src/api/live/catalogue.ts'
import { calledOf, someoneOf, subjectOf } from '../../../src/api/name-text.ts'
import type { Match } from '../../../src/api/rest/verify.ts'
import type { Api } from '../../../src/cli/command.ts'
import { sentenceOf } from '../../../src/cli/commands/log-sentences.ts'
import type { LoggedEvent } from '../../../src/cli/event-pages.ts'
import { logLinesOf } from '../../../src/cli/log-lines.ts'
import { harmlessIo } from '../../../src/cli/output.ts'
import examples from '../../../src/api/openapi/examples.json' with { type: 'json' }
import { newLog } from '../../../src/log.ts'
import { HOSTILE_NAMES } from '../../pages/hostile-names.ts'
import { call } from '../calling.ts'
import { streams } from '../terminal.ts'

/** The fields of answers that contain a text that another person chose. */
const CHOSEN = new Set([
  'body',
  'connection_name',
  'description',
  'device_name',
  'display_name',
  'headline',
  'label',
  'message',
  'name',
  'note',
  'own_name',
  'title',
])

/** Returns an answer with this text in each field that another person chooses. */
function withTexts(answer: unknown, text: string): unknown {
  if (Array.isArray(answer)) return answer.map((one) => withTexts(one, text))
  if (typeof answer !== 'object' || answer === null) return answer
  const fields = Object.entries(answer).map(([field, value]) => [
    field,
    CHOSEN.has(field) && typeof value === 'string' ? text : withTexts(value, text),
  ])
  return Object.fromEntries(fields)
}

const device = { device_name: 'laptop', words: 'acorn acorn acorn acorn', state: 'ready' }
const REPLIES: Readonly<Record<string, object>> = {
  ...examples,
  approvals_begin: { reply: device },
  approvals_create: { reply: device },
  context_read: examples.context_activeOrg,
  recovery_read: { reply: { key: null, since: null, next: {} } },
}

function replyTo(call: string): unknown {
  const { reply = {} } = (REPLIES[call] ?? {}) as { reply?: unknown }
  return reply
}

/** Returns an API that answers with the examples, with this text as every name. */
const apiWith = (text: string): Api =>
  new Proxy({} as Api, {
    get: (_api, group: string) =>
      new Proxy(
        {},
        {
          get: (_group, name: string) => async () => withTexts(replyTo(`${group}_${name}`), text),
        },
      ),
  })

type Words = readonly [string, ...string[]]

const idOf = (kind: string) => `${kind}_01kg9r5w000000000000000001`
const [CONNECTION, GUEST, INVITATION] = [idOf('con'), idOf('gst'), idOf('inv')]
const [ACCOUNT, REQUEST] = [idOf('acc'), idOf('req')]

/** Commands that show names, in tables, labelled lines and sentences. */
const SHOWN: readonly Words[] = [
  ['device list'],
  ['session list'],
  ['profile'],
  ['whoami'],
  ['verify', '--public', 'alto dislodge generous'],
  ['code'],
  ['guest list'],
  ['guest send', GUEST],
  ['connection list'],
  ['connection show', CONNECTION],
  ['connection members', CONNECTION],
  ['connection remove-member', CONNECTION, ACCOUNT],
  ['connection leave', CONNECTION, '--yes'],
  ['connection delete', CONNECTION, '--yes'],
  ['invite list'],
  ['invite approve', INVITATION],
  ['invite decline', INVITATION],
  ['tag list'],
  ['preset list'],
  ['trust list'],
  ['trust follow', ACCOUNT],
  ['trust dismiss', ACCOUNT],
  ['external list'],
  ['notification list'],
  ['link list'],
  ['link requests'],
  ['link approve', REQUEST],
  ['link decline', REQUEST],
  ['org list'],
  ['org use', idOf('org')],
  ['org members'],
  ['org group list'],
  ['org activity'],
  ['org summary'],
  ['org alert list'],
  ['token list'],
  ['webhook list'],
]

/** Commands whose question contains a name. */
const ASKED: readonly Words[] = [
  ['call', CONNECTION],
  ['call', GUEST],
  ['device approve', idOf('dev')],
  ['connection leave', CONNECTION],
  ['connection delete', CONNECTION],
  ['trust confirm', ACCOUNT],
]

/** Returns what a terminal shows: the output with all that the program makes harmless. */
function atTerminal(text: string): string {
  const { result, io } = streams()
  harmlessIo({ ...io, env: {} }).stdout.write(text)
  return result.out
}

const NAMES = { ...HOSTILE_NAMES, 'a quotation mark': 'Ann" is approved. "x' }
/** By how much a name may make a line longer. */
const MOST = 2000

/** Asserts that a text with a hostile name has the lines that it has with a plain name. */
function assertHarmless(plain: string, hostile: string): void {
  const [expected = [], lines = []] = [plain, hostile].map((text) => atTerminal(text).split('\n'))
  assert.equal(lines.length, expected.length, hostile.slice(0, 500))
  for (const [at, line] of lines.entries()) {
    assert.doesNotMatch(line, /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u)
    assert.doesNotMatch(line, /\p{M}{5}/u)
    assert.doesNotMatch(line, /"Ann" is approved/)
    assert(line.length <= expected[at]!.length + MOST, `${line.length}: ${line.slice(0, 500)}`)
  }
}

for (const [what, commands] of [
  ['what commands show', SHOWN],
  ['questions of commands', ASKED],
] as const)
  describe(what, () => {
    for (const words of commands)
      it(words.join(' '), async () => {
        const seen = async (name: string) => {
          const person = what === 'what commands show' ? {} : { person: typing() }
          const { out, err } = await call(apiWith(name), words, { columns: 200, ...person })
          return out + err
        }
        const plain = await seen('Ann')
        assert.match(plain, /Ann/, plain)
        for (const name of Object.values(NAMES)) assertHarmless(plain, await seen(name))
      })
  })

/** Returns a person who answers three questions. */
function typing() {
  const answers = ['', 'acorn acorn acorn acorn', '']
  return () => answers.shift() ?? null
}

describe('names in sentences of the daemon', () => {
  for (const source of ['given', 'confirmed', 'self', 'server', 'own'] as const)
    it(source, () => {
      const sentences = (display_name: string) => {
        const named = { display_name, name_source: source, name_marks: [] }
        const match = { connection_name: display_name, external_member: { display_name } }
        const kinds = ['connection', 'guest'] as const
        const subjects = kinds.map((kind) =>
          subjectOf({ ...named, ...match, kind } as unknown as Match),
        )
        return [calledOf(named), someoneOf(named), ...subjects]
      }
      for (const name of Object.values(NAMES))
        for (const [at, text] of sentences(name).entries()) {
          const plain = sentences('Ann')[at]!
          assertHarmless(plain, text)
          assert(text.length <= plain.length + 2 * 200, text)
        }
    })
})

describe('sentences of the log', () => {
  for (const type of EVENT_TYPES)
    it(type, () => {
      const sentence = (name: string) => {
        const match = { kind: 'guest', display_name: name, connection_name: name }
        const texts = Object.fromEntries(Array.from(CHOSEN, (field) => [field, name]))
        const data = { ...texts, previous_name: name, outcome: 'verified', matches: [match] }
        return sentenceOf({ type, data } as unknown as LoggedEvent, new Map())
      }
      const plain = sentence('Ann')
      if (plain === null) return
      for (const name of Object.values(NAMES)) assertHarmless(plain, sentence(name)!)
    })
})

describe('a line of the log of a daemon at a terminal', () => {
  for (const [kind, name] of Object.entries(HOSTILE_NAMES))
    it(`with ${kind}`, () => {
      let written = ''
      const env = { NO_COLOR: '1' }
      const stderr = { isTTY: true, write: (text: string) => void (written += text) }
      const { stderr: harmless } = harmlessIo({ ...streams().io, stderr, env })
      const log = newLog('info', logLinesOf({ stderr: harmless, env }).write)
      log('warn', 'sync failed', { cause: new Error(`no ${name}`), name })
      const [first, ...more] = written.trimEnd().split('\n')
      assert.match(first!, /^\d\d:\d\d:\d\d warn: sync failed: Error: no /)
      for (const line of more) assert.match(line, /^ {4}/)
      assert.doesNotMatch(written, /[^\n\P{Cc}]|[\u2028-\u202e\u2066-\u2069]/u)
      assert(written.length < 10_000, String(written.length))
    })
})
