/** A proxy that records all bytes, in both directions. */
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import type { TestContext } from 'node:test'

export interface Recorder {
  /** The address for all clients. */
  readonly url: string
  /** The port to which it forwards. */
  to: number
  /** Returns the recorded bytes, each direction of each connection separately. */
  traffic(): { readonly asked: readonly Buffer[]; readonly answered: readonly Buffer[] }
}

/** Starts a recorder that ends with the test. */
export async function startRecorder(t: Pick<TestContext, 'after'>): Promise<Recorder> {
  const asked: Buffer[][] = []
  const answered: Buffer[][] = []
  const open = new Set<Socket>()

  function keep(directions: Buffer[][], socket: Socket): void {
    const chunks: Buffer[] = []
    directions.push(chunks)
    open.add(socket)
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.once('close', () => open.delete(socket))
  }

  const server = createServer({ noDelay: true }, (client) => {
    const onward = connect({ port: recorder.to, host: '127.0.0.1', noDelay: true })
    keep(asked, client)
    keep(answered, onward)
    client.pipe(onward).pipe(client)
    for (const [one, other] of [
      [client, onward],
      [onward, client],
    ] as const)
      one.on('error', () => other.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const whole = (directions: Buffer[][]) => directions.map((chunks) => Buffer.concat(chunks))
  const recorder: Recorder = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    to: 0,
    traffic: () => ({ asked: whole(asked), answered: whole(answered) }),
  }
  return recorder
}
