/** Clients that send nothing, or stop in the middle of a request. */
import { once } from 'node:events'
import { answersIn } from '../http/raw.ts'
import {
  type Drill,
  FORM_TYPE,
  JSON_TYPE,
  PAGE_PATH,
  isOverSocket,
  opened,
  requestTo,
  answerText,
  takesBody,
} from './attack.ts'
import { counted } from './counted.ts'
import { type Target, nameOf } from './routes.ts'
import type { Scene } from './scene.ts'
import { connectTo } from '../unix-url.ts'
import { isWell } from './wire.ts'

/** More connections than a listener keeps open. */
const IDLE = 2_100

/**
 * Opens more silent connections than a listener keeps.
 * @returns a function that closes them
 */
export async function openIdle(address: string): Promise<() => void> {
  const sockets = await Promise.all(
    Array.from({ length: IDLE }, async () => {
      for (;;) {
        const socket = connectTo(address)
        // A Unix socket accepts no more connections while too many wait (EAGAIN).
        const isOpen = await once(socket, 'connect').then(
          () => true,
          () => false,
        )
        socket.on('error', () => undefined)
        if (isOpen) return socket
      }
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
    const { record, outcome } = counted()
    for (const { address } of Object.values(scene.at)) {
      const close = await openIdle(address)
      for (let i = 0; i < 10; i++) record('200', await isWell(address))
      close()
    }
    return outcome()
  },
}

/**
 * Sends the beginning of a request and no more. Returns the answer once the server has closed the
 * connection.
 */
async function stall(address: string, bytes: string): Promise<string> {
  const socket = connectTo(address, { allowHalfOpen: true })
  let text = ''
  socket.on('error', () => undefined)
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  socket.write(Buffer.from(bytes, 'latin1'))
  await Promise.race([once(socket, 'end'), once(socket, 'close')])
  socket.destroy()
  return text
}

const HALF_A_BODY = [JSON_TYPE, 'Content-Length: 100']

/**
 * Returns incomplete requests to a route: cut in the headers, and in the body of an authorized
 * caller.
 */
async function beginnings(target: Target, scene: Scene): Promise<string[]> {
  const head = (await opened(target, scene)).slice(0, -2)
  if (!takesBody(target)) return [`${head}X-Half: `]
  const type = target.route?.form === true ? [FORM_TYPE, HALF_A_BODY[1]!] : HALF_A_BODY
  const lines = [...(await scene.opens(target).lines(target.method, target.path)), ...type]
  return [`${head}X-Half: `, requestTo(target, scene, { lines, body: '{"na' })]
}

/** Returns the answers that may end an incomplete request to a route. */
const endsOf = (target: Target, scene: Scene): readonly string[] => [
  '408 request_timeout',
  // A required query is validated before the body is read.
  '422 validation_failed',
  // No page can send a request over the socket, so the guard rejects those to this path at once.
  ...(target.pattern === PAGE_PATH && isOverSocket(target, scene)
    ? ['403 origin_not_allowed']
    : []),
]

/** Takes as long as the server’s timeout: half a minute. */
export const slow: Drill = {
  row: 'Slow clients, floods',
  name: 'half of the headers, or of the body, to every route, and honest requests beside them',
  async run(scene) {
    const { record, outcome } = counted()
    const stalled = scene.targets.flatMap(async (target) =>
      (await beginnings(target, scene)).map(async (bytes) => {
        const text = await stall(scene.at[target.listener].address, bytes)
        const answer = answersIn(text).map(answerText).join()
        record(
          answer,
          endsOf(target, scene).includes(answer)
            ? null
            : `${nameOf(target)}: ${answer || 'no answer'}`,
        )
      }),
    )
    const all = (await Promise.all(stalled)).flat()
    for (const { address } of Object.values(scene.at)) record('200', await isWell(address))
    await Promise.all(all)
    return outcome()
  },
}
