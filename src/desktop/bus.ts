/**
 * A client of the session bus (D-Bus), for calls of methods. It offers no objects and subscribes to
 * no signals.
 *
 * @see https://dbus.freedesktop.org/doc/dbus-specification.html
 */
import { type Socket, createConnection } from 'node:net'
import {
  MESSAGE,
  type MethodCall,
  type Reader,
  type Received,
  decodeMessage,
  encodeCall,
  messageLength,
} from './wire.ts'

/** How long the bus may take to accept the connection, and a reply to come, in milliseconds. */
const PATIENCE_MS = 10_000
/** The longest line while the bus checks the user. */
const LONGEST_LINE = 16_384

const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
}

/** A connection to the session bus. */
export interface Bus {
  isOpen(): boolean
  /**
   * Calls a method and returns the values of the reply.
   * @throws Error with the reason of the bus. If no reply comes in time, the connection is closed.
   */
  call(call: MethodCall): Promise<Reader>
  /** Calls a method of the bus itself. */
  ask(call: Pick<MethodCall, 'member' | 'signature' | 'args'>): Promise<Reader>
  close(): void
}

/** Returns the paths of the sockets in an address of the bus. Other transports are left out. */
function socketsIn(addresses: string): string[] {
  return addresses.split(';').flatMap((address) => {
    if (!address.startsWith('unix:')) return []
    const values = new Map(
      address
        .slice('unix:'.length)
        .split(',')
        .map((pair) => pair.split('=', 2) as [string, string]),
    )
    const [path, abstract] = ['path', 'abstract'].map((key) => values.get(key))
    if (path !== undefined) return [decodeURIComponent(path)]
    return abstract === undefined ? [] : [`\0${decodeURIComponent(abstract)}`]
  })
}

const closed = () => new Error('the session bus closed the connection')

/**
 * Connects to a socket of the bus and identifies this user (EXTERNAL): the bus compares the uid
 * with the user of the socket's other end.
 */
async function connect(path: string): Promise<Socket> {
  const socket = createConnection(path)
  const late = setTimeout(
    () => socket.destroy(new Error('the session bus did not answer in time')),
    PATIENCE_MS,
  )
  try {
    return await new Promise<Socket>((resolve, reject) => {
      let answer = Buffer.alloc(0)
      function read(chunk: Buffer): void {
        answer = Buffer.concat([answer, chunk])
        if (!answer.includes('\r\n') && answer.length < LONGEST_LINE) return
        socket.off('data', read)
        // The bus sends nothing more before the line BEGIN.
        if (!/^OK [^\r\n]*\r\n$/.test(answer.toString('latin1')))
          return reject(new Error('the session bus does not accept this user'))
        socket.write('BEGIN\r\n')
        resolve(socket)
      }
      socket.on('data', read)
      socket.once('error', reject)
      socket.once('close', () => reject(closed()))
      const uid = Buffer.from(`${process.getuid?.() ?? ''}`).toString('hex')
      socket.write(`\0AUTH EXTERNAL ${uid}\r\n`)
    })
  } catch (cause) {
    socket.destroy()
    throw cause
  } finally {
    clearTimeout(late)
  }
}

/** Connects to the first socket in an address of the bus that accepts this user. */
async function connectFirst(addresses: string): Promise<Socket> {
  let failure: unknown = new Error(`the address ${addresses} has no socket of this machine`)
  for (const path of socketsIn(addresses))
    try {
      return await connect(path)
    } catch (cause) {
      failure = cause
    }
  throw failure
}

/** Returns the error in an answer, with the reason that the service gave. */
function errorOf({ error, body }: Received): Error {
  try {
    return new Error(`${error}: ${body.text()}`)
  } catch {
    // The service gave no reason.
    return new Error(error)
  }
}

interface Waiting {
  readonly resolve: (message: Received) => void
  readonly reject: (error: Error) => void
}

/** Sends calls over a socket on which messages can be exchanged. */
function callsOver(socket: Socket): Bus {
  const waiting = new Map<number, Waiting>()
  let serial = 0
  let received = Buffer.alloc(0)

  function fail(cause: Error): void {
    socket.destroy()
    for (const { reject } of waiting.values()) reject(cause)
    waiting.clear()
  }

  function read(chunk: Buffer): void {
    received = Buffer.concat([received, chunk])
    for (;;) {
      const length = messageLength(received)
      if (length === null || received.length < length) return
      const message = decodeMessage(received.subarray(0, length))
      received = received.subarray(length)
      waiting.get(message.replyTo)?.resolve(message)
      waiting.delete(message.replyTo)
    }
  }

  socket.on('data', (chunk: Buffer) => {
    try {
      read(chunk)
    } catch (cause) {
      fail(cause as Error)
    }
  })
  socket.on('error', fail)
  socket.on('close', () => fail(closed()))

  async function call(wanted: MethodCall): Promise<Reader> {
    const mine = ++serial
    const late = setTimeout(
      () => fail(new Error(`${wanted.destination} did not answer in time`)),
      PATIENCE_MS,
    )
    try {
      const message = await new Promise<Received>((resolve, reject) => {
        waiting.set(mine, { resolve, reject })
        if (socket.destroyed) fail(new Error('the connection to the session bus is closed'))
        else socket.write(encodeCall(mine, wanted))
      })
      if (message.type === MESSAGE.error) throw errorOf(message)
      return message.body
    } finally {
      clearTimeout(late)
    }
  }

  return {
    isOpen: () => !socket.destroyed,
    call,
    ask: (wanted) => call({ ...BUS, ...wanted }),
    close: () => fail(new Error('the connection to the session bus was closed')),
  }
}

/**
 * Connects to the session bus.
 * @param addresses its addresses, separated by semicolons
 * @throws Error if it cannot be reached or does not accept this user
 */
export async function openBus(addresses: string): Promise<Bus> {
  const bus = callsOver(await connectFirst(addresses))
  try {
    await bus.ask({ member: 'Hello' })
    return bus
  } catch (cause) {
    bus.close()
    throw cause
  }
}
