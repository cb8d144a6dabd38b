/** Starts a daemon in a process of its own for an attack. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { RequestChannel } from '../../src/http/dispatch.ts'
import { PROGRAM, environment, folder } from '../e2e/program.ts'
import { unixUrl } from '../unix-url.ts'
import type { Place } from './populated.ts'

/** The settings of a daemon without TCP. */
export const onlySocket = (folder: string) => ({
  SVC_HTTP_PORT: 'off',
  SVC_HTTP_SOCKET: join(folder, 'api.sock'),
})

/** The end of a process: its exit code, or the signal that killed it. */
export type Exit = [code: number | null, signal: NodeJS.Signals | null]

/**
 * Starts `countersignd serve` over a new folder, with TCP or only with a Unix socket. Its log is
 * discarded; it ends with this process.
 * @returns `end`: sends SIGTERM and waits for the exit; `kill`: sends SIGKILL
 */
export async function startChild(
  channel: RequestChannel = 'tcp',
): Promise<Place & { pid: number; end(): Promise<Exit>; kill(): void }> {
  const home = folder()
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--json'], {
    env: environment(home.path, channel === 'tcp' ? {} : onlySocket(home.path)),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const closed = once(child, 'close')
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { address, socket, account_address } = JSON.parse(line) as Record<string, string | null>
  return {
    address: address ?? unixUrl(socket as string),
    accountAddress: account_address as string,
    stateDir: home.path,
    pid: child.pid as number,
    async end() {
      child.kill('SIGTERM')
      const exit = (await closed) as Exit
      process.off('exit', kill)
      home.remove()
      return exit
    },
    kill,
  }
}
