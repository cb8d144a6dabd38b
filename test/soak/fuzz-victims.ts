/** Fixtures with accounts that may be deleted. */
import { startProcess } from './daemon-process.ts'
import type { Town } from './fuzz-town.ts'

/**
 * Returns the same fixture with sessions of new accounts: the next one when the last is deleted.
 */
export async function withVictims(town: Town): Promise<Town> {
  let victim = await town.newPerson()
  return {
    ...town,
    fieldsOf: async (who, at, method, path) =>
      who === 'session' && at === 'account'
        ? Object.entries(await town.provenBy(victim, method, path))
        : town.fieldsOf(who, at, method, path),
    async restore(who, error) {
      if (who !== 'session' || error !== 'invalid_token') return false
      victim = await town.newPerson()
      return true
    },
  }
}

/** Starts a separate daemon, with an account that may be deleted. */
export async function onItsOwn(town: Town): Promise<Town> {
  const daemon = await startProcess()
  const token = await daemon.token('full')
  return {
    ...town,
    daemon,
    port: (at) => Number(new URL(at === 'api' ? daemon.address : daemon.accountAddress).port),
    fieldsOf: async (who) => (who === 'nobody' ? [] : [['Authorization', `Bearer ${token}`]]),
    restore: async () => false,
  }
}
