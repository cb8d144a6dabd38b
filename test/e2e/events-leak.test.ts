/**
 * The events of a device contain no words, secrets or tokens: a daemon calls every route, and then
 * its events are searched for all that the answers and the state folder keep secret.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseWords } from '../../src/crypto/words.ts'
import { openState } from '../../src/state/state.ts'
import { startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Documented, documentOf } from './documented.ts'
import { bytesOf, secretsIn, wordsOf } from './kept.ts'
import { type Needle, encodings, found, spoken } from './leaks.ts'
import { walk } from './walk.ts'

const MINUTE_MS = 60_000
/** JSON in a JWS in JSON. */
const DEPTH = 2

/** The members of answers and requests with texts that no event may contain. */
const KEPT = /^(?:words|token|secret|url|safety_number|purpose|message|headline|content|comment)$/

/** Yields these texts in a value, with the names of their members. */
function* keptIn(value: unknown, name = ''): Generator<readonly [name: string, text: string]> {
  if (typeof value === 'string') {
    // The audit log names a token by its id.
    const isId = name === 'token' && !/^cs[dm]_/.test(value)
    if (KEPT.test(name) && value.length >= 4 && !isId) yield [name, value]
  } else if (Array.isArray(value)) for (const one of value) yield* keptIn(one, name)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* keptIn(inner, key)
}

/** Returns the needles of a text of an answer. */
function needlesOf([name, text]: readonly [string, string]): Needle[] {
  const words = text.split(' ')
  if (name === 'words' && words.length === 3) return spoken(name, text, parseWords(text, 3).indices)
  // The secret of a link is its fragment.
  const secret = name === 'url' ? (text.split('#')[1] ?? text) : text
  return [{ what: `${name} of an answer`, bytes: Buffer.from(secret) }]
}

test('the events of a daemon that answers every route contain no words, secrets and tokens', async (t) => {
  const stateDir = freshFolder(t)
  const home = await startDaemon({ SVC_STATE_DIR: stateDir })
  const from = Math.floor(Date.now() / MINUTE_MS) - 1
  const document = await documentOf(home)
  const kept: (readonly [string, string])[] = []
  const call: Documented['call'] = async (asker, id, asked) => {
    const reply = await document.call(asker, id, asked)
    kept.push(...keptIn(asked?.body), ...keptIn(reply))
    return reply
  }
  const token = await home.token('full')
  try {
    await walk({
      document: { ...document, call },
      home: { daemon: home, token },
      server: { stateDir },
      async newDaemon() {
        const daemon = await startDaemon({ SVC_BACKEND_URL: home.accountAddress })
        t.after(() => daemon.close())
        return daemon
      },
    })
  } finally {
    await home.close()
  }
  const until = Math.floor(Date.now() / MINUTE_MS) + 1

  const { privateKeys, secrets } = await secretsIn(stateDir)
  const state = openState(stateDir)
  const events = state.events.after(0, 10_000).map((event) => bytesOf(JSON.stringify(event)))
  const accounts = [...new Set(state.connections.all().flatMap(({ members }) => members))].map(
    ({ user_id }) => user_id,
  )
  state.close()
  const windows = Array.from({ length: until - from + 1 }, (_, i) => from + i)
  const needles: Needle[] = [
    ...privateKeys.flatMap(([use, secret]) => encodings(`private ${use} key`, secret)),
    ...secrets.flatMap((secret) => [
      ...encodings(`secret of ${secret.id}`, secret.k),
      ...[...wordsOf(secret, accounts, windows)].flatMap(({ name, words }) =>
        spoken(name, words, parseWords(words, 3).indices),
      ),
    ]),
    ...encodings('token', Buffer.from(token)),
    ...kept.flatMap(needlesOf),
  ]
  assert(kept.length > 20 && events.length > 20, `${kept.length} texts, ${events.length} events`)
  assert.deepEqual(found(needles, events, DEPTH), [])
  const canary = [{ what: 'a name', bytes: Buffer.from('Bäckerei Huber') }]
  assert.notDeepEqual(found(canary, events, DEPTH), [], 'the search finds what is there')
})
