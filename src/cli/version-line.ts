/** Which program this is, in the words that scripts read and people quote. */
import { COMMIT, VERSION } from '../runtime/version.ts'

/** The version, and the commit where it is known: `0.1.0 (0123456789ab)`. */
export const versionLine: string = COMMIT === null ? VERSION : `${VERSION} (${COMMIT})`

/** The same for scripts, with what it runs on. */
export const versionFacts = {
  version: VERSION,
  commit: COMMIT,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
} as const
