/** A headless daemon signs in by itself: the service manager gives it the key of its machine account. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { MachineKey } from '../api/local/index.ts'
import { StartError } from '../errors.ts'

/** The key, or null where there is none. Throws StartError, without a word of what is in the file, for one that is no key. */
export function machineKeyIn(credentialsDir: string | null): MachineKey | null {
  if (credentialsDir === null) return null
  const path = join(credentialsDir, 'countersign-machine-key')
  if (!existsSync(path)) return null
  const key = v.safeParse(MachineKey, parsed(readFileSync(path, 'utf8')))
  if (key.success) return key.output
  throw new StartError(
    'configuration',
    `${path} is not the key file of a machine account, as "countersignd machine create" writes it.`,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
