/**
 * Stores secrets by name.
 *
 * Every function throws AppError `keychain_locked` if the store is not accessible.
 */
export interface Keychain {
  readonly backend: 'os' | 'file'
  /** Returns a secret; null if no secret has that name. */
  get(name: string): string | null
  set(name: string, secret: string): void
  /** Deletes a secret. Does nothing if it does not exist. */
  delete(name: string): void
}
