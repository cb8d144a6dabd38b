/**
 * The settings of a webhook, sealed as one record of the vault. Nothing of them is in `state.db` in
 * clear: URLs often contain secrets, and an edited database cannot change where events are sent.
 */
import type { Vault } from '../device/identity/vault.ts'
import type { Target } from './target.ts'

export interface Settings extends Target {
  readonly types: readonly string[]
  /** The id of the token that created the webhook; null: the command line. */
  readonly token: string | null
  readonly secret: string
}

export const storeSettings = (vault: Vault, id: string, settings: Settings): void =>
  vault.put(id, Buffer.from(JSON.stringify(settings)))

/**
 * Returns the settings; null if the record is missing or damaged.
 * @throws AppError keychain_locked; not_signed_in after a sign-out
 */
export function settingsOf(vault: Vault, id: string): Settings | null {
  const record = vault.find(id)
  return record === null ? null : (JSON.parse(Buffer.from(record).toString()) as Settings)
}
