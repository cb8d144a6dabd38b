/** Sessions of their own, with a real Secret Service. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { lacking } from '../installed.ts'

/** Why a test about the Secret Service is skipped, whether or not one has to run. */
export const notHere: string | false =
  process.platform === 'linux' ? false : 'the Secret Service is on Linux'

/** Why a test is skipped that needs a session of its own. */
export const noSession: string | false =
  notHere || lacking('dbus-run-session', 'gnome-keyring-daemon')

/** An environment with a home of its own and no session in it. */
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

/** The words that run a command in a session, where its keyring is locked. */
export const session = (...command: string[]): Words => ['dbus-run-session', '--', ...command]

const UNLOCKED =
  'printf test | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$@"'

/** As `session`, with the keyring open. */
export const unlocked = (...command: string[]): Words =>
  session('sh', '-c', UNLOCKED, 'sh', ...command)
