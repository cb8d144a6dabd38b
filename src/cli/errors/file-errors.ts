/** Errors of files that the user named, in plain words. */
import { UsageError } from '../command.ts'

const FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `There is no file "${path}".`,
  ENOTDIR: (path) => `There is no file "${path}": a part of the path is not a folder.`,
  EISDIR: (path) => `"${path}" is a folder. Name one file.`,
  EACCES: (path) => `The permissions of "${path}" do not allow this.`,
  EPERM: (path) => `The permissions of "${path}" do not allow this.`,
}

/** Returns the fault of a file in plain words; null for a fault that has none. */
export const plainFileFault = (path: string, code: string | undefined): string | null =>
  FAULTS[code ?? '']?.(path) ?? null

/**
 * Returns the error for a file that cannot be read.
 * @param option the option that names the file; undefined if an argument does
 */
export function unreadable(path: string, cause: unknown, option?: string): UsageError {
  const { code, message } = cause as NodeJS.ErrnoException
  const fault = plainFileFault(path, code) ?? `"${path}" cannot be read: ${message}`
  return new UsageError(option === undefined ? fault : `--${option}: ${fault}`, { cause })
}
