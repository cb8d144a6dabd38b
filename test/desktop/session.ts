/** A session bus and services of desktop notifications for tests. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { lacking } from '../installed.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

/** The Python of the system, for which its packages are installed. */
const PYTHON = '/usr/bin/python3'

function lackingPython(): string | false {
  const { status } = spawnSync(PYTHON, ['-c', 'import dbus, gi'])
  return status !== 0 && 'not installed: python3-dbus, python3-gi'
}

/** The reason why a test that needs a desktop is skipped, or false. */
export const noDesktop: string | false =
  process.platform === 'linux'
    ? lacking('dbus-daemon', 'dbus-send') || lackingPython()
    : 'desktop notifications are on Linux'

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** A notification as it arrived at the service. */
export interface Arrived {
  readonly app: string
  readonly replaces: number
  readonly summary: string
  readonly body: string
  readonly rest: readonly unknown[]
  readonly id: number
}

export interface Desktop {
  /** The address of the session bus. */
  readonly address: string
  /**
   * Starts a service of notifications.
   * @param mode `show` accepts notifications, `refuse` refuses them, `silent` does not answer
   */
  service(mode?: 'show' | 'refuse' | 'silent', capabilities?: readonly string[]): Promise<Service>
  /** Ends the session bus. */
  end(): Promise<void>
}

export interface Service {
  readonly arrived: readonly Arrived[]
  /** Waits for the next notification that was not returned yet. */
  next(): Promise<Arrived>
  end(): Promise<void>
}

const PLAIN = ['body', 'body-markup'] as const

async function startService(
  t: TestContext,
  address: string,
  args: readonly string[],
): Promise<Service> {
  const child = spawn(PYTHON, [join(import.meta.dirname, 'service.py'), ...args], {
    env: { PATH: process.env['PATH'], DBUS_SESSION_BUS_ADDRESS: address },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => ended(child))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async () => {
    const { value, done } = await lines.next()
    assert(done !== true, 'the service of notifications ended')
    return JSON.parse(value) as unknown
  }
  assert.equal(await line(), 'ready')
  const arrived: Arrived[] = []
  return {
    arrived,
    async next() {
      arrived.push((await line()) as Arrived)
      return arrived.at(-1)!
    },
    end: () => ended(child),
  }
}

/** Starts a session bus without a service of notifications. */
export async function newDesktop(t: TestContext): Promise<Desktop> {
  const address = `unix:path=${join(freshFolder(t), 'bus')}`
  const bus = spawn(
    'dbus-daemon',
    ['--session', '--nofork', `--address=${address}`, '--print-address'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  t.after(() => ended(bus))
  const [printed] = (await once(createInterface(bus.stdout), 'line')) as [string]
  return {
    address: printed,
    service: (mode = 'show', capabilities = PLAIN) =>
      startService(t, printed, [mode, ...capabilities]),
    end: () => ended(bus),
  }
}
