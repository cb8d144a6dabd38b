/**
 * The account server learns no secret: two accounts connect, verify each other and part. Then
 * everything that the server stores, writes, logs and receives is searched for secrets of
 * connections, words and private keys.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, describe, it, test } from 'node:test'
import { parseWords } from '../../src/crypto/words.ts'
import { EXIT } from '../../src/errors.ts'
import { terminal } from '../cli/terminal.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { letterOf } from '../service/letters.ts'
import { startPostgres } from '../service/postgres.ts'
import type { Json } from './caller.ts'
import { bytesOf, databaseAt, filesIn, secretsIn, wordsOf } from './kept.ts'
import { type Needle, encodings, found, spoken } from './leaks.ts'
import { start, startDaemon } from './program.ts'
import { startRecorder } from './recorder.ts'
import { login } from './servers.ts'

/** JSON in a JWS in JSON, and one level more. */
const DEPTH = 3

const MINUTE_MS = 60_000

/** Creates a user with a daemon of its own. */
async function newPerson(
  t: TestContext,
  name: string,
  { server, mailDir }: { server: string; mailDir: string },
) {
  const stateDir = freshFolder(t)
  const daemon = await startDaemon(stateDir, { SVC_BACKEND_URL: server, SVC_LOG_LEVEL: 'debug' })
  t.after(() => daemon.end('SIGKILL'))
  const email = `${name}@example.org`
  await login(stateDir, { server, mailDir, email })
  const run = terminal(stateDir)
  const cli = (args: readonly string[], input = '') =>
    run(args, { env: { SVC_BACKEND_URL: server }, input })
  const json = async (...args: string[]): Promise<Json> => {
    const { code, out, err } = await cli([...args, '--json'])
    assert.equal(code, EXIT.ok, err)
    return JSON.parse(out)
  }
  const hears = async (words: string) => {
    const { code, out, err } = await cli(['verify', '--json'], words)
    assert.equal(err, '')
    const { verified, echo, replayed } = JSON.parse(out) as Json
    return { code, verified, echo, replayed }
  }
  const says = async (connection: string): Promise<string> =>
    (await json('code', connection)).words as string
  const account = (await json('whoami')).user.id as string
  return { email, account, stateDir, daemon, json, says, hears }
}

test('two people connect, verify and part: the account server, its database and the wire contain no secret', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const recorder = await startRecorder(t)
  const [serverDir, databaseUrl] = [freshFolder(t), await postgres.newDatabase()]
  const server = await start(
    ['server', '--json'],
    serverDir,
    { SVC_PUBLIC_URL: recorder.url, SVC_DATABASE_URL: databaseUrl, SVC_LOG_LEVEL: 'debug' },
    '}\n',
  )
  t.after(() => server.end('SIGKILL'))
  recorder.to = Number(new URL((JSON.parse(server.stdout) as Json).account_address).port)

  const from = Math.floor(Date.now() / MINUTE_MS) - 1
  const place = { server: recorder.url, mailDir: join(serverDir, 'mail') }
  const [ada, bob] = [await newPerson(t, 'ada', place), await newPerson(t, 'bob', place)]
  const { id } = await ada.json(
    'connection',
    'create',
    '--name',
    'Bank',
    '--invite',
    'bob@example.org',
  )
  const { received } = await bob.json('invite', 'list')
  await bob.json('invite', 'approve', received[0].id)
  for (const one of [ada, bob]) await one.json('sync')
  const numbers = [
    (await ada.json('trust', 'follow', bob.email)).safety_number,
    (await bob.json('trust', 'follow', ada.email)).safety_number,
  ]
  assert.equal(numbers[0], numbers[1])
  await ada.json('trust', 'confirm', bob.account, '--safety-number', numbers[0])
  const pairOfWords = [await bob.says(id), await ada.says(id)] as const
  const good = { code: EXIT.ok, verified: true, echo: false, replayed: false }
  assert.deepEqual(await ada.hears(pairOfWords[0]), good)
  assert.deepEqual(await bob.hears(pairOfWords[1]), good)
  const no = { code: EXIT.notVerified, verified: false }
  assert.deepEqual(await ada.hears(pairOfWords[1]), { ...no, echo: true, replayed: false })
  assert.deepEqual(await ada.hears(pairOfWords[0]), { ...no, echo: false, replayed: true })
  await ada.json('guest', 'create', '--label', 'Plumber')
  for (const one of [ada, bob]) await one.json('sync')
  const late = await bob.says(id)
  // Before the removal: a daemon that learns of it deletes the secret that the test searches for.
  assert.equal(await bob.daemon.end('SIGTERM'), 0)
  await ada.json('connection', 'remove-member', id, bob.account)
  assert.deepEqual(await ada.hears(late), { ...no, echo: false, replayed: false })
  await ada.json('sync')
  const alone = await ada.says(id)
  const until = Math.floor(Date.now() / MINUTE_MS) + 1

  assert.equal(await ada.daemon.end('SIGTERM'), 0)
  assert.equal(await server.end('SIGTERM'), 0)

  const stored = await Promise.all([ada, bob].map(({ stateDir }) => secretsIn(stateDir)))
  const windows = Array.from({ length: until - from + 1 }, (_, i) => from + i)
  const accounts = [ada.account, bob.account]
  const words = stored.flatMap(({ secrets }) =>
    secrets.flatMap((secret) => [...wordsOf(secret, accounts, windows)]),
  )
  // Both epochs of the connection and the guest code: the words that were used are among theirs.
  assert.equal(stored.flatMap(({ secrets }) => secrets).length, 3)
  for (const one of [...pairOfWords, late, alone])
    assert(words.some((known) => known.words === one))

  const needles: Needle[] = [
    ...stored.flatMap(({ privateKeys, secrets }, i) => [
      ...secrets.flatMap(({ id: of, k }) => encodings(`K of ${of} at ${i}`, k)),
      ...privateKeys.flatMap(([use, secret]) => encodings(`private ${use} key of ${i}`, secret)),
    ]),
    ...words.flatMap(({ name, words: three }) => spoken(name, three, parseWords(three, 3).indices)),
  ]
  const { tables, files } = await databaseAt(databaseUrl)
  const { asked, answered } = recorder.traffic()
  const there = filesIn(serverDir)
  const [publicKey] = stored.map(({ keys }) => Buffer.from(keys.sign.jwk.x, 'base64url'))
  const key = encodings('key', publicKey ?? assert.fail('no key'))
  const connection = [{ what: 'connection', bytes: Buffer.from(id) }]
  const asking = [{ what: 'a route', bytes: Buffer.from('/api/v1/connections') }]
  const inviter = [{ what: 'inviter', bytes: Buffer.from(ada.email) }]
  /**
   * The searched data, the depth of decoding, and the needles that the same search must find
   * there.
   */
  const sources: [name: string, haystacks: readonly Buffer[], depth: number, Needle[][]][] = [
    ['what the daemons asked', asked, DEPTH, [connection, key]],
    ['what the server answered', answered, DEPTH, [connection, key]],
    ['the tables', tables, DEPTH, [connection, key]],
    ["PostgreSQL's files", files, 1, [connection, key]],
    ["the server's files, mail among them", there, DEPTH, [inviter]],
    ['mail as it is read', there.map((file) => bytesOf(letterOf(file).text)), DEPTH, [inviter]],
    ["the server's output", [bytesOf(server.stdout + server.log())], DEPTH, [asking]],
    ["the daemons' logs", [ada, bob].map(({ daemon }) => bytesOf(daemon.log())), DEPTH, [asking]],
  ]
  for (const [name, haystacks, depth, known] of sources) {
    assert.deepEqual(found(needles, haystacks, depth), [], name)
    for (const canary of known) assert.notDeepEqual(found(canary, haystacks, depth), [], name)
  }
})

describe('the search for secrets finds', () => {
  const k = Buffer.from('00112233445566778899aabbccddeeff0f1e2d3c4b5a69788796a5b4c3d2e1f0', 'hex')
  const noise = Buffer.from('{"before":"nothing of that"}\n')
  const needles = [
    ...encodings('K', k),
    ...spoken('words', 'matador carload recede', [2172, 525, 2808]),
  ]
  for (const { what, bytes } of needles)
    it(what, () => {
      const planted = Buffer.concat([noise, bytes, noise])
      assert(found(needles, [noise, planted], 0).includes(what))
    })

  const jws = (value: unknown) =>
    `e30.${Buffer.from(JSON.stringify(value)).toString('base64url')}.c2ln`
  const nested: [what: string, haystack: Buffer][] = [
    ['a JWS', Buffer.from(`{"entry":"${jws({ k: k.toString('base64url') })}"}`)],
    ['a JWS in a JWS', Buffer.from(jws({ inner: jws({ k: k.toString('hex') }) }))],
    ['base64 of more data', Buffer.concat([noise.subarray(0, 1), k, noise])],
  ]
  for (const [what, haystack] of nested)
    it(`K in ${what}`, () => assert.notDeepEqual(found(encodings('K', k), [haystack], DEPTH), []))

  it('in base64 with any offset', () => {
    for (const before of [0, 1, 2]) {
      const encoded = Buffer.concat([noise.subarray(0, before), k, noise]).toString('base64')
      assert.notDeepEqual(found(encodings('K', k), [Buffer.from(encoded)], 0), [])
    }
  })

  it('nothing in other data', () =>
    assert.deepEqual(found(needles, [noise, Buffer.alloc(9)], DEPTH), []))
})
