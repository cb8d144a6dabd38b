/**
 * The release key: the account that signs the releases of this program.
 *
 * docs/releasing.md explains who holds it, and how it is replaced.
 */
import pinned from './release-key.json' with { type: 'json' }

export interface ReleaseKey {
  /** The id of the account, which is the hash of its first keys. */
  readonly account: string
  /**
   * The entries of its key log when this program was built. A stamp can come with a shorter log, in
   * which a revocation is missing; these entries complete it.
   */
  readonly key_log: readonly string[]
}

/** The release key that this program contains; null if it was built before there was one. */
export const RELEASE_KEY = pinned as ReleaseKey | null
