/**
 * Named secrets.
 *
 * Every function throws AppError `keychain_locked` if the store is not accessible.
 */
export interface Keychain {
  readonly backend: 'os' | 'file'
  /** Returns a secret, or null if there is none with that name. */
  get(name: string): string | null
  set(name: string, secret: string): void
  /** Deletes a secret. A missing one is not an error. */
  delete(name: string): void
}
