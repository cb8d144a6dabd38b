/** How long a program takes to its first answer, and what it needs at rest. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Program, rssMib } from './programs.ts'

export interface Started {
  /** From spawn to the first answer, in milliseconds. */
  readonly ms: number
  /** Resident memory a second later, in MiB. */
  readonly rss: number
}

/** Resolves when the program answers; it is asked again until it does. */
async function firstAnswer(port: number): Promise<void> {
  const asked = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`),
      )
      socket.once('error', () => resolve(false))
      socket.once('data', () => {
        socket.destroy()
        resolve(true)
      })
    })
  while (!(await asked())) await wait(1)
}

/** Start a program, look at it and end it. */
export async function started(spawnIt: () => Program): Promise<Started> {
  const from = performance.now()
  const program = spawnIt()
  await firstAnswer(program.port)
  const ms = performance.now() - from
  await wait(1000)
  const rss = rssMib(program.process.pid ?? 0)
  await program.stop()
  return { ms, rss }
}
