/** Sessions with a real Secret Service for tests. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { lacking } from '../installed.ts'

/** The reason why a test of the Secret Service is skipped here, or false. */
export const notHere: string | false =
  process.platform === 'linux' ? false : 'the Secret Service is on Linux'

/** The reason why a test that needs a separate session is skipped, or false. */
export const noSession: string | false =
  notHere || lacking('dbus-run-session', 'gnome-keyring-daemon')

/** Returns an environment with a given home folder and without a session. */
export function bareEnvironment(home: string): NodeJS.ProcessEnv {
  const {
    NODE_TEST_CONTEXT: _,
    DBUS_SESSION_BUS_ADDRESS: _bus,
    DISPLAY: _display,
    ...rest
  } = process.env
  const runtime = join(home, 'run')
  mkdirSync(runtime, { mode: 0o700, recursive: true })
  return { ...rest, HOME: home, XDG_DATA_HOME: join(home, 'data'), XDG_RUNTIME_DIR: runtime }
}

type Words = readonly [program: string, ...words: string[]]

/** Returns the arguments that run a command in a session with a locked keyring. */
export const session = (...command: string[]): Words => ['dbus-run-session', '--', ...command]

const UNLOCKED =
  'printf test | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$@"'

/** Returns the arguments that run a command in a session with an open keyring. */
export const unlocked = (...command: string[]): Words =>
  session('sh', '-c', UNLOCKED, 'sh', ...command)
