/** Attacks that are plays of their own: several clients, or many tries. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { answersIn } from '../server/raw.ts'
import { ask } from '../daemon.ts'
import { type Drill, JSON_TYPE, NEW_TOKEN, portOf, saidBy } from './attack.ts'
import { counted } from './counted.ts'
import type { Scene } from './scene.ts'
import { idle } from './slow.ts'

const MOST_TRIES = 20
const NOBODYS_WORDS = 'matador carload recede'

/** By every way that words are checked, and with different tokens, in turn. */
const threeWords: Drill = {
  row: 'Guessing three words',
  name: 'wrong words from two tokens, by the route, as a tool and by the protocol',
  async run(scene) {
    const { heard, outcome } = counted()
    const { address } = scene.at.api
    const body = { words: NOBODYS_WORDS }
    const params = { name: 'verify_words', arguments: body }
    const ways: [path: string, body: object][] = [
      ['/api/v1/verify', body],
      ['/tools/verify_words', body],
      ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }],
      ['/api/v1/tools/verify_words', body],
    ]
    const [write, full] = await Promise.all(
      ['write', 'full'].map((name) => scene.caller('api', name).lines('POST', '/')),
    )
    assert(write && full)
    const headersOf = ([line = '']: readonly string[]) => ({
      Authorization: line.slice('Authorization: '.length),
      Accept: 'application/json, text/event-stream',
    })
    // Twice as many where a minute ends meanwhile.
    for (let tries = 1; tries <= 2 * MOST_TRIES + 1; tries++) {
      const [path, asked] = ways[tries % ways.length]!
      const headers = headersOf([write, full][tries % 2]!)
      const { text } = await ask(address, 'POST', path, { body: asked, headers })
      if (!text.includes('rate_limited')) {
        heard('200', tries === 2 * MOST_TRIES + 1 ? 'there is no limit' : null)
        continue
      }
      heard('429 rate_limited', tries > MOST_TRIES ? null : `refused at try ${tries}`)
      break
    }
    // Then it is everybody's.
    for (const lines of [write, full])
      for (const [path, asked] of ways) {
        const { status, text, headers } = await ask(address, 'POST', path, {
          body: asked,
          headers: headersOf(lines),
        })
        const isLimited = text.includes('rate_limited')
        const later = path === '/mcp' || /^[1-9]\d?$/.test(headers['retry-after'] ?? '')
        heard(`${status} rate_limited`, isLimited && later ? null : `${path}: ${status} ${text}`)
      }
    return outcome()
  },
}

const countOfTokens = async (scene: Scene) => {
  const { json } = await scene.request('GET', '/api/v1/api-tokens?limit=200')
  return (json as { items: unknown[] }).items.length
}

/** Asks, and closes its end or all of it, before anybody has heard what it asks. */
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

/** What a client that went away before the daemon heard it was told. */
async function gone(scene: Scene, how: 'half-closed' | 'closed'): Promise<string> {
  const { host } = scene.at.api
  const bytes =
    `POST /api/v1/token HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${JSON_TYPE}\r\n` +
    `Content-Length: ${NEW_TOKEN.length}\r\n\r\n${NEW_TOKEN}`
  const flag = new Int32Array(new SharedArrayBuffer(4))
  const workerData = { flag, port: Number(portOf(scene, 'api')), bytes, how }
  // The daemon stands still meanwhile: in another process by a signal, in this one because this thread waits.
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
  name: 'whoever closed their end before they were asked about is nobody',
  async run(scene) {
    const { heard, outcome } = counted()
    if (process.platform !== 'linux') return outcome()
    const before = await countOfTokens(scene)
    for (const how of ['half-closed', 'closed'] as const)
      for (let i = 0; i < 5; i++) {
        const text = await gone(scene, how)
        if (how === 'closed' && text === '') {
          heard('nobody there')
          continue
        }
        const said = answersIn(text).map(saidBy).join()
        heard(said, said === '403 peer_not_allowed' ? null : `${how}: ${said}`)
      }
    // What the last of them asked is judged by now: it came before this.
    const after = await countOfTokens(scene)
    if (after !== before) heard(`${after - before} tokens`, 'it made a token')
    return outcome()
  },
}

/** A form sent again and again: the account is told of nobody who did not follow the link in their mail. */
const openLink: Drill = {
  row: 'Open-link form',
  name: 'asked more than a hundred times in an hour',
  async run(scene) {
    const { heard, outcome } = counted()
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
      heard(String(status), status === right ? null : `try ${i + 1}: ${status}`)
    }
    const after = await scene.request('GET', '/api/v1/open-links/requests')
    if (after.text !== before.text) heard('shown', `the owner is told: ${after.text}`)
    return outcome()
  },
}

export const drills: readonly Drill[] = [peers, idle, openLink, threeWords]
