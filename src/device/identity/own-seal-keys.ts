/** The sealing keys of this device, as the keychain and the state database store them. */

/** A sealing key of this device, without its private half. */
export interface OwnSealKey {
  readonly id: string
  /** The 1,216 bytes of its public half, base64url. */
  readonly key: string
  /** When it was made, Unix milliseconds; null until that was noted. */
  readonly made_at: number | null
}

/** The sealing keys of this device: the keychain holds a private half for each. */
export interface SealKeys {
  /** The newest one that the key log is known to name. */
  readonly newest: OwnSealKey
  /** One that was made, and that the log is not known to name: its entry may be on its way. */
  readonly next: OwnSealKey | null
  readonly old: readonly OldSealKey[]
  /** The place of the own key log with which this agreed last; null before the first comparison. */
  readonly seq: number | null
}

/** A sealing key that was replaced. */
export interface OldSealKey {
  readonly id: string
  /** When this device learned that the account server has the entry that replaced it. */
  readonly since: number
}
