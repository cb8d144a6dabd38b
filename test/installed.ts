/** Programs that tests run beside the one they test. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const isInstalled = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((dir) => existsSync(join(dir, program)))

/** Why a test is skipped that needs all of these; false where they are here. */
export function lacking(...programs: string[]): string | false {
  const missing = programs.filter((program) => !isInstalled(program))
  return missing.length > 0 && `not installed: ${missing.join(', ')}`
}
