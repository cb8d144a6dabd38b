/** Drills: attacks with several clients or many attempts. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { lstatSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { answersIn } from '../http/raw.ts'
import { ask } from '../daemon.ts'
import { pathIn } from '../unix-url.ts'
import { type Drill, JSON_TYPE, NEW_TOKEN, portOf, answerText } from './attack.ts'
import { counted } from './counted.ts'
import type { Scene } from './scene.ts'
import { floodDrills } from './floods.ts'
import { idle } from './slow.ts'

const MOST_OF_TOKEN = 20
const NOBODYS_WORDS = 'matador carload recede'

const body = { words: NOBODYS_WORDS }
const params = { name: 'verify_words', arguments: body }
/** Every route that verifies words. */
const WAYS: readonly [path: string, body: object][] = [
  ['/api/v1/verify', body],
  ['/tools/verify_words', body],
  ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }],
  ['/api/v1/tools/verify_words', body],
]

const threeWords: Drill = {
  row: 'Guessing three words',
  name: 'wrong words from two tokens, by the route, as a tool and by the protocol',
  async run(scene) {
    const { record, outcome } = counted()
    const { address } = scene.at.api
    let sent = 0
    /** Sends wrong words, each time by the next way. Returns whether they were rejected. */
    async function isLimited(authorization: string): Promise<boolean> {
      const [path, asked] = WAYS[sent++ % WAYS.length]!
      const headers = {
        Authorization: authorization,
        Accept: 'application/json, text/event-stream',
      }
      const answer = await ask(address, 'POST', path, { body: asked, headers })
      const limited = answer.text.includes('rate_limited')
      const later = path === '/mcp' || /^[1-9]\d?$/.test(answer.headers['retry-after'] ?? '')
      const right = limited ? later : answer.status === 200
      record(
        limited ? '429 rate_limited' : '200',
        right ? null : `${path}: ${answer.status} ${answer.text}`,
      )
      return limited
    }
    /**
     * Sends guesses until the token is limited. The count may double if a minute ends in between.
     */
    async function guesses(authorization: string): Promise<number> {
      for (let tries = 0; tries <= 2 * MOST_OF_TOKEN; tries++)
        if (await isLimited(authorization)) return tries
      record('no limit', 'there is no limit for a token')
      return 2 * MOST_OF_TOKEN
    }

    const authorizationOf = async (name: string): Promise<string> => {
      const [line = ''] = await scene.caller('api', name).lines('POST', '/')
      return line.slice('Authorization: '.length)
    }
    for (const name of ['write', 'full']) {
      const tries = await guesses(await authorizationOf(name))
      if (tries < MOST_OF_TOKEN) record('early', `${name} was limited after ${tries} tries`)
    }
    const owner = await authorizationOf('owner')
    for (const _ of WAYS)
      if (await isLimited(owner))
        record('locked out', 'tokens kept the command line from checking words')
    return outcome()
  },
}

const countOfTokens = async (scene: Scene) => {
  const { json } = await scene.request('GET', '/api/v1/api-tokens?limit=200')
  return (json as { items: unknown[] }).items.length
}

/** Sends a request, and closes its side or the whole connection before the daemon reads it. */
const CLIENT = `
const { workerData: { flag, port, bytes, how }, parentPort } = require('node:worker_threads')
const raise = () => { Atomics.store(flag, 0, 1); Atomics.notify(flag, 0) }
let text = ''
const socket = require('node:net').connect({ port, host: '127.0.0.1', allowHalfOpen: true })
socket.on('data', (chunk) => (text += chunk))
socket.on('error', () => undefined)
socket.on('end', () => socket.destroy())
socket.on('close', () => { raise(); parentPort.postMessage(text) })
socket.end(bytes, () => (how === 'closed' ? socket.destroy() : raise()))`

/** Returns the answer to a client that closed before the daemon read its request. */
async function gone(scene: Scene, how: 'half-closed' | 'closed'): Promise<string> {
  const { host } = scene.at.api
  const bytes =
    `POST /api/v1/token HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${JSON_TYPE}\r\n` +
    `Content-Length: ${NEW_TOKEN.length}\r\n\r\n${NEW_TOKEN}`
  const flag = new Int32Array(new SharedArrayBuffer(4))
  const workerData = { flag, port: Number(portOf(scene, 'api')), bytes, how }
  // The daemon is paused meanwhile: in another process by a signal, in this one because this
  // thread blocks.
  if (scene.pid !== undefined) process.kill(scene.pid, 'SIGSTOP')
  try {
    const worker = new Worker(CLIENT, { eval: true, workerData })
    const answer = once(worker, 'message') as Promise<[string]>
    assert.equal(Atomics.wait(flag, 0, 0, 10_000), 'ok')
    if (scene.pid !== undefined) process.kill(scene.pid, 'SIGCONT')
    const [text] = await answer
    return text
  } finally {
    if (scene.pid !== undefined) process.kill(scene.pid, 'SIGCONT')
  }
}

const peers: Drill = {
  row: 'Other local users',
  name: 'a peer that half-closes early has no known user',
  async run(scene) {
    const { record, outcome } = counted()
    if (process.platform !== 'linux') return outcome()
    if (scene.channel === 'socket') {
      // Its owner and its mode decide who may connect (`other-user.test.ts`).
      const { mode } = lstatSync(pathIn(scene.at.api.address) as string)
      record('mode', (mode & 0o777) === 0o600 ? null : `mode ${(mode & 0o777).toString(8)}`)
      return outcome()
    }
    const before = await countOfTokens(scene)
    for (const how of ['half-closed', 'closed'] as const)
      for (let i = 0; i < 5; i++) {
        const text = await gone(scene, how)
        if (how === 'closed' && text === '') {
          record('nobody there')
          continue
        }
        const answer = answersIn(text).map(answerText).join()
        record(answer, answer === '403 peer_not_allowed' ? null : `${how}: ${answer}`)
      }
    // This request comes after the last of them, so that one is decided by now.
    const after = await countOfTokens(scene)
    if (after !== before) record(`${after - before} tokens`, 'it made a token')
    return outcome()
  },
}

/**
 * A form submitted again and again: the account gets no request from a sender who did not follow
 * the link in the mail.
 */
const openLink: Drill = {
  row: 'Open-link form',
  name: 'asked more than a hundred times in an hour',
  async run(scene) {
    const { record, outcome } = counted()
    const { address } = scene.at.account
    const target = scene.targets.find(({ name }) => name === 'openLinkPages.ask')
    assert(target)
    const before = await scene.request('GET', '/api/v1/open-links/requests')
    for (let i = 0; i < 110; i++) {
      const body = `display_name=Mallory&email=mallory${i}%40example.org&message=x`
      const { status } = await ask(address, 'POST', target.path, {
        body,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: address },
      })
      const right = i < 100 ? 200 : 429
      record(String(status), status === right ? null : `try ${i + 1}: ${status}`)
    }
    const after = await scene.request('GET', '/api/v1/open-links/requests')
    if (after.text !== before.text) record('shown', `the owner is told: ${after.text}`)
    return outcome()
  },
}

export const drills: readonly Drill[] = [peers, idle, ...floodDrills, openLink, threeWords]
