/**
 * Secrets of every kind, in every place of a request, at both listeners, at level debug: no log,
 * audit log or answer contains them. An answer may quote text without the form of a secret to the
 * caller: an unknown path or member, and a word that is on no list.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { send } from '../http/raw.ts'
import { sized } from '../soak/size.ts'
import { type Canary, hitsIn, needlesOf, newCanaries } from './canaries.ts'
import { IN_PATHS, PLACES, type Place, type Where } from './canary-places.ts'

/**
 * A canary is put into one place of this many. There are more canaries, so each place has its
 * turn.
 */
const EVERY = sized(20, 1)
/** The same for places in paths, where fewer canaries are valid. */
const EVERY_PATH = sized(4, 1)
const share = (places: readonly Place[], turn: number, every: number) =>
  places.filter((_, i) => (i + turn) % every === 0)

/** A limit, so that no request times out behind the others. */
const AT_ONCE = 16

/** Canaries without the form of a secret: an error of these statuses may quote them. */
const SHAPELESS = new Set(['a password', 'another scheme'])
const QUOTED = new Set([404, 405, 422])

/**
 * The files of the state folder that describe requests, without the databases and secrets, which
 * store their input.
 */
const WRITTEN = /\.(jsonl|json|log|txt)$/

describe('canaries', () => {
  let daemon: TestDaemon
  let listeners: readonly (readonly [name: string, address: string, token: string])[]
  const sent: Canary[] = []
  before(async () => {
    daemon = await startDaemon()
    const token = await daemon.token('full')
    sent.push({ name: 'the token that was used', text: token, secrets: [token] })
    listeners = [
      ['the API', daemon.address, token],
      ['the account server', daemon.accountAddress, ''],
    ]
  })
  after(() => daemon.close())

  /** Sends a canary to each place; returns the places with an answer that contains it. */
  async function repeated(canary: Canary, places: readonly Place[]): Promise<string[]> {
    const needles = needlesOf(canary)
    const answers: [from: string, answer: string][] = []
    const one = async (listener: string, where: Where, { name, bytes }: Place) => {
      const request = bytes(canary, where)
      if (request === null) return
      const answer = await send(where.address, request)
      const status = Number(answer.slice(9, 12))
      const isNamed = QUOTED.has(status) || name === 'MCP: a tool'
      const isAllowed = SHAPELESS.has(canary.name) && isNamed
      if (!isAllowed) answers.push([`${listener}, ${name}: ${status}`, answer])
    }
    for (const [listener, address, token] of listeners)
      for (let i = 0; i < places.length; i += AT_ONCE) {
        const some = places.slice(i, i + AT_ONCE)
        await Promise.all(some.map((place) => one(listener, { address, token }, place)))
      }
    const hits = (some: typeof answers) =>
      hitsIn(
        needles,
        some.map(([, answer]) => answer),
      )
    // One search over all answers is fast; the single answers are searched only after a hit.
    if (hits(answers).length === 0) return []
    return answers.filter((one) => hits([one]).length > 0).map(([from]) => from)
  }

  for (const [i, canary] of newCanaries().entries())
    it(`${canary.name} is in no answer`, async () => {
      sent.push(canary)
      assert.deepEqual(await repeated(canary, share(PLACES, i, EVERY)), [])
    })

  for (const [i, canary] of newCanaries().entries()) {
    const isShapeless = SHAPELESS.has(canary.name)
    it(`${canary.name} in a path is in no answer${isShapeless ? ' except as the path' : ''}`, async () => {
      if (!isShapeless) sent.push(canary)
      assert.deepEqual(await repeated(canary, share(IN_PATHS, i, EVERY_PATH)), [])
    })
  }

  it('the log does not contain a path with a secret that looks like a name', async () => {
    const canary = newCanaries().find(({ name }) => name === 'a password') as Canary
    await repeated(canary, IN_PATHS)
    assert.deepEqual(hitsIn(needlesOf(canary), daemon.log), [])
  })

  it('the log contains none of them', () => {
    // Makes sure that the log has lines to search.
    const refusals = daemon.log.filter((line) => line.includes('"request refused"'))
    assert(refusals.length > sent.length, `${refusals.length} refusals`)
    for (const canary of sent) assert.deepEqual(hitsIn(needlesOf(canary), daemon.log), [])
  })

  it('the files of requests contain none of them', (t) => {
    const all = readdirSync(daemon.stateDir, { recursive: true, encoding: 'utf8' })
    const files = all.filter((name) => WRITTEN.test(name))
    t.diagnostic(`searched: ${files.join(', ')}`)
    const texts = files.map((name) => readFileSync(join(daemon.stateDir, name)))
    for (const canary of sent) assert.deepEqual(hitsIn(needlesOf(canary), texts), [])
  })

  it('the log contains no secret that an answer shows once', async () => {
    const token = await daemon.token('read')
    const shown = { name: 'a token that was made', secrets: [token] }
    assert.deepEqual(hitsIn(needlesOf(shown), daemon.log), [])
  })
})

describe('the search finds', () => {
  for (const canary of newCanaries())
    for (const secret of canary.secrets) {
      const needles = needlesOf(canary)
      const plants: [how: string, text: string][] = [
        ['whole', `"${secret}"`],
        ['twelve characters of it', `x${secret.slice(3, 15)}y`],
        ['in base64', Buffer.from(`.${secret}`).toString('base64')],
        ['in hex', Buffer.from(secret).toString('hex')],
        ['in JSON in JSON', JSON.stringify(JSON.stringify({ secret }))],
        ['in a URL', `?a=${encodeURIComponent(secret)}`],
      ]
      for (const [how, text] of plants)
        it(`${canary.name}, ${how}`, () => assert.notDeepEqual(hitsIn(needles, [text]), []))
    }

  it('nothing in other data', () => {
    for (const canary of newCanaries())
      assert.deepEqual(hitsIn(needlesOf(canary), ['{"level":"debug","event":"request"}']), [])
  })
})
