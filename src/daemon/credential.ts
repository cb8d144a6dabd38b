/**
 * Reads the key of a machine account, with which a headless daemon signs in. The service manager
 * provides the key as a credential file.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { MachineKey } from '../api/local/index.ts'
import { StartError } from '../errors.ts'

/**
 * Returns the machine key in the credentials folder; null if there is no folder or no key file.
 * @throws StartError if the file is not a key. The message does not quote the file's content.
 */
export function machineKeyIn(credentialsDir: string | null): MachineKey | null {
  if (credentialsDir === null) return null
  const path = join(credentialsDir, 'countersign-machine-key')
  if (!existsSync(path)) return null
  const key = v.safeParse(MachineKey, parsed(readFileSync(path, 'utf8')))
  if (key.success) return key.output
  throw new StartError(
    'configuration',
    `${path} is not a key file of a machine account. "countersignd machine create" writes such a file.`,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
