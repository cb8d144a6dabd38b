/** Named secrets. Every function throws AppError `keychain_locked` when the store is out of reach. */
export interface Keychain {
  readonly backend: 'os' | 'file'
  /** The secret, or null when there is none of that name. */
  get(name: string): string | null
  set(name: string, secret: string): void
  /** Removes a secret; one that is not there is no error. */
  delete(name: string): void
}
