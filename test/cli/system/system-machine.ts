/**
 * Sets up a machine with a service under its own user, in folders laid out as systemd does, and
 * users who run the command line.
 */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SystemPlaces } from '../../../src/config/values.ts'
import {
  type Ended,
  type Machine,
  type Started,
  openMachine,
  bundle,
} from '../../attack/other-user-machine.ts'

/** The service’s uid, of the range that systemd gives to dynamic users. */
export const SERVICE = 61_234

export interface Site {
  readonly system: SystemPlaces
  /** The real path of the state folder. */
  readonly state: string
  /** Returns the home folder of a user. */
  home(uid: number): string
  /** Starts the service. */
  start(env?: NodeJS.ProcessEnv): Promise<Started>
  /** Runs `countersignd …` as a user, with these settings. */
  call(
    uid: number,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
    input?: string,
  ): Promise<Ended>
}

export interface SystemMachine extends Machine {
  /** Returns the folders of a service that has never run. */
  site(): Site
}

const folder = (path: string, uid: number, mode: number): string => {
  mkdirSync(path)
  chownSync(path, uid, uid)
  chmodSync(path, mode)
  return path
}

/** Sets the machine up; `close` deletes everything on it. */
export async function openSystemMachine(): Promise<SystemMachine> {
  const machine = await openMachine()
  const caller = join(machine.shared, 'dist/caller.cjs')
  await bundle('test/cli/system/system-caller.ts', caller)
  return {
    ...machine,
    site() {
      const root = mkdtempSync(join(machine.shared, 'system-'))
      chmodSync(root, 0o755)
      const at = (name: string, uid: number, mode: number) => folder(join(root, name), uid, mode)
      at('run', 0, 0o755)
      at('lib', 0, 0o755)
      // systemd lets only root enter this folder, and mounts its contents for the service.
      at('lib/private', 0, 0o711)
      const state = at('lib/private/countersign', SERVICE, 0o700)
      symlinkSync('private/countersign', join(root, 'lib/countersign'))
      const unit = join(root, 'countersignd.service')
      writeFileSync(unit, '')
      const system = {
        runtime: at('run/countersign', SERVICE, 0o755),
        state: join(root, 'lib/countersign'),
        units: [unit],
      }
      const homes = new Map<number, string>()
      const home = (uid: number) => {
        const path = homes.get(uid) ?? machine.home(uid)
        homes.set(uid, path)
        return path
      }
      return {
        system,
        state,
        home,
        start: (env = {}) =>
          machine.serve(SERVICE, '', {
            STATE_DIRECTORY: state,
            RUNTIME_DIRECTORY: system.runtime,
            ...env,
          }),
        call: (uid, args, env = {}, input) =>
          machine.run(
            uid,
            'env',
            [
              ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
              join(machine.shared, 'node'),
              caller,
              JSON.stringify({ home: home(uid), system }),
              ...args,
            ],
            input,
          ),
      }
    },
  }
}
