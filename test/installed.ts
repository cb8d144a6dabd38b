/** Checks which external programs are installed that tests run. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const isInstalled = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((dir) => existsSync(join(dir, program)))

/** Returns why a test that needs all these programs is skipped; false if they are installed. */
export function lacking(...programs: string[]): string | false {
  const missing = programs.filter((program) => !isInstalled(program))
  return missing.length > 0 && `not installed: ${missing.join(', ')}`
}
