/** The identity of this program, in a format for scripts and bug reports. */
import { COMMIT, VERSION } from '../runtime/version.ts'

/** The version, and the commit where it is known: `0.1.0 (0123456789ab)`. */
export const versionLine: string = COMMIT === null ? VERSION : `${VERSION} (${COMMIT})`

/** The same data as an object for scripts, with the runtime and the platform. */
export const versionFacts = {
  version: VERSION,
  commit: COMMIT,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
} as const
