/** Clients that say nothing, or stop in the middle. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { answersIn } from '../http/raw.ts'
import { type Drill, FORM_TYPE, JSON_TYPE, opened, requestTo, saidBy, takesBody } from './attack.ts'
import { counted } from './counted.ts'
import { type Target, nameOf } from './routes.ts'
import type { Scene } from './scene.ts'
import { isWell } from './wire.ts'

/** More connections than a listener keeps open. */
const IDLE = 2_100

/**
 * Open more silent connections than a listener keeps.
 * @returns how to close them
 */
export async function openIdle(address: string): Promise<() => void> {
  const { hostname, port } = new URL(address)
  const sockets = await Promise.all(
    Array.from({ length: IDLE }, async () => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    }),
  )
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

export const idle: Drill = {
  row: 'Slow clients, floods',
  name: `${IDLE} idle connections at each listener, and honest requests beside them`,
  async run(scene) {
    const { heard, outcome } = counted()
    for (const { address } of Object.values(scene.at)) {
      const close = await openIdle(address)
      for (let i = 0; i < 10; i++) heard('200', await isWell(address))
      close()
    }
    return outcome()
  },
}

/** Send the beginning of a request and no more. Out: what came until the server closed. */
async function stall(address: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(address)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  let text = ''
  socket.on('error', () => undefined)
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  socket.write(Buffer.from(bytes, 'latin1'))
  await Promise.race([once(socket, 'end'), once(socket, 'close')])
  socket.destroy()
  return text
}

const HALF_A_BODY = [JSON_TYPE, 'Content-Length: 100']

/** The beginnings of a request to each route: in the middle of its headers, and of the body of who may send one. */
async function beginnings(target: Target, scene: Scene): Promise<string[]> {
  const head = (await opened(target, scene)).slice(0, -2)
  if (!takesBody(target)) return [`${head}X-Half: `]
  const type = target.route?.form === true ? [FORM_TYPE, HALF_A_BODY[1]!] : HALF_A_BODY
  const lines = [...(await scene.opens(target).lines(target.method, target.path)), ...type]
  return [`${head}X-Half: `, requestTo(target, scene, { lines, body: '{"na' })]
}

/** It takes as long as the server waits: half a minute. */
export const slow: Drill = {
  row: 'Slow clients, floods',
  name: 'half of the headers, or of the body, to every route, and honest requests beside them',
  async run(scene) {
    const { heard, outcome } = counted()
    const stalled = scene.targets.flatMap(async (target) =>
      (await beginnings(target, scene)).map(async (bytes) => {
        const text = await stall(scene.at[target.listener].address, bytes)
        const said = answersIn(text).map(saidBy).join()
        // A query that a route requires is judged before the body is read.
        const isClosed = said === '408 request_timeout' || said === '422 validation_failed'
        heard(said, isClosed ? null : `${nameOf(target)}: ${said || 'no answer'}`)
      }),
    )
    const all = (await Promise.all(stalled)).flat()
    for (const { address } of Object.values(scene.at)) heard('200', await isWell(address))
    await Promise.all(all)
    return outcome()
  },
}
