/**
 * Many requests on each of many connections with unread answers, and an honest client beside
 * them.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Drill } from './attack.ts'
import { counted } from './counted.ts'
import type { Listener } from './routes.ts'
import type { Scene } from './scene.ts'
import { hostOf } from '../http/raw.ts'
import { placeAt } from '../unix-url.ts'
import { isWell } from './wire.ts'

export interface Flood {
  readonly listener: Listener
  readonly path: string
  readonly connections: number
  readonly requests: number
}

/**
 * Runs in a thread of its own, so that its cost does not count as the server’s. Reports when all
 * bytes are handed to the system.
 */
const FLOODER = `
const { workerData: { place, connections, request, requests, cells }, parentPort } = require('node:worker_threads')
const { connect } = require('node:net')
const open = new Int32Array(cells)
const bytes = Buffer.from(request.repeat(requests))
const all = Array.from({ length: connections }, () => new Promise((resolve) => {
  const socket = connect(place)
  socket.on('error', () => undefined)
  socket.on('close', () => Atomics.sub(open, 0, 1))
  socket.pause()
  socket.on('connect', () => { socket.write(bytes); Atomics.add(open, 0, 1); resolve() })
}))
Promise.all(all).then(() => parentPort.postMessage('flooding'))`

const portOf = (address: string) => Number(new URL(address).port)

/**
 * Floods a listener until `end` is called.
 * @returns `open`: the number of its open connections
 */
export async function flood(
  address: string,
  asked: Flood,
): Promise<{ open: () => number; end: () => Promise<unknown> }> {
  const request = `GET ${asked.path} HTTP/1.1\r\nHost: ${hostOf(address)}\r\n\r\n`
  const cells = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const workerData = { place: placeAt(address), request, cells, ...asked }
  const worker = new Worker(FLOODER, { eval: true, workerData })
  await once(worker, 'message')
  return { open: () => Atomics.load(new Int32Array(cells), 0), end: () => worker.terminate() }
}

/** Returns the resident memory of a process, in MiB. */
export const rssOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** The most memory of a daemon during a flood, in MiB. */
export const MOST_MIB = 300
const HONEST = 200

const drillOf = (asked: Flood, name: string): Drill => ({
  row: 'Requests pipelined and not read',
  name,
  async run(scene: Scene) {
    const { record, outcome } = counted()
    const { address } = scene.at[asked.listener]
    const { end } = await flood(address, asked)
    for (let i = 0; i < HONEST; i++) record('200', await isWell(address))
    if (scene.pid !== undefined && process.platform === 'linux') {
      const mib = rssOf(scene.pid)
      record('memory', mib < MOST_MIB ? null : `${Math.round(mib)} MiB resident`)
    }
    await end()
    return outcome()
  },
})

export const FLOODS: readonly Flood[] = [
  { listener: 'api', path: '/api/v1/health', connections: 200, requests: 12_030 },
  { listener: 'account', path: '/assets/stamp.js', connections: 60, requests: 11_500 },
]

/**
 * A tenth of the requests: as many as one read holds. In a full run, `floods.test.ts` sends all
 * of them.
 */
export const floodDrills: readonly Drill[] = FLOODS.map((asked) =>
  drillOf(
    { ...asked, requests: Math.round(asked.requests / 10) },
    `${asked.connections} connections with ${Math.round(asked.requests / 10)} requests each to ${asked.path}, unread, and honest requests beside them`,
  ),
)

/**
 * Sends a body in chunks of one byte on each of many connections to an address.
 * @returns `waiting`: the number of connections that wait for their answers; `end`: closes them
 */
export function floodChunks(
  address: string,
  { connections, chunks }: { readonly connections: number; readonly chunks: number },
): { waiting: () => number; end: () => void } {
  const bytes =
    `POST /device/v1/sign-ins HTTP/1.1\r\nHost: ${new URL(address).host}\r\n` +
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n' +
    `${'1\r\n \r\n'.repeat(chunks)}0\r\n\r\n`
  let waiting = connections
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(portOf(address), '127.0.0.1')
    let isWaiting = true
    const done = () => {
      if (isWaiting) waiting--
      isWaiting = false
    }
    socket.once('data', done).once('close', done)
    socket.on('error', () => undefined)
    socket.write(bytes)
    return socket
  })
  return {
    waiting: () => waiting,
    end: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

const PER_ADDRESS = 9_000

/**
 * Leaves rows of ended connections in the kernel’s listing; each address has a limited number of
 * ports.
 */
export async function leaveRows(rows: number): Promise<void> {
  const server = createServer((socket) => socket.end())
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let left = rows
  const connectAll = async () => {
    while (left-- > 0) {
      const socket = connect(port, `127.0.0.${2 + Math.floor(left / PER_ADDRESS)}`)
      await once(socket.resume(), 'close')
    }
  }
  await Promise.all(Array.from({ length: 50 }, connectAll))
  server.close()
}
