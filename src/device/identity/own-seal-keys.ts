/** The sealing keys of this device, as the keychain and the state database store them. */

/** A sealing key of this device, without its private half. */
export interface OwnSealKey {
  readonly id: string
  /** The 1,216 bytes of its public half, base64url. */
  readonly key: string
  /** When it was made, Unix milliseconds; null until that was recorded. */
  readonly made_at: number | null
}

/** The sealing keys of this device. The keychain holds a private half for each. */
export interface SealKeys {
  /** The newest one that the key log is known to name. */
  readonly newest: OwnSealKey
  /** A key that was made, but that the log is not known to name: its entry may be in transit. */
  readonly next: OwnSealKey | null
  readonly old: readonly OldSealKey[]
  /**
   * The place of the own key log at which these keys last agreed with it; null before the first
   * time.
   */
  readonly seq: number | null
}

/** A sealing key that was replaced. */
export interface OldSealKey {
  readonly id: string
  /** When this device found the entry that replaced it in the key log, Unix milliseconds. */
  readonly since: number
}
