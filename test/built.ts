/** Warns about a missing build, on which the handbook and the pages depend. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const HANDBOOK = join(import.meta.dirname, '../dist/handbook.json')

let isChecked = false

/** Warns once in a process if there is no build. Tests that need none still run. */
export function warnIfNotBuilt(): void {
  if (isChecked) return
  isChecked = true
  if (existsSync(HANDBOOK)) return
  process.emitWarning(
    'There is no dist/handbook.json. Requests for the assistant and for pages fail. Run npm run build first.',
  )
}
