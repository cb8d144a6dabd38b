/** Fixtures with accounts that may be deleted. */
import { startProcess } from './daemon-process.ts'
import type { FuzzFixture } from './fuzz-fixture.ts'

/**
 * Returns the same fixture with sessions of new accounts: the next one when the last is deleted.
 */
export async function withVictims(fixture: FuzzFixture): Promise<FuzzFixture> {
  let victim = await fixture.newPerson()
  return {
    ...fixture,
    fieldsOf: async (who, at, method, path) =>
      who === 'session' && at === 'account'
        ? Object.entries(await fixture.provenBy(victim, method, path))
        : fixture.fieldsOf(who, at, method, path),
    async restore(who, error) {
      if (who !== 'session' || error !== 'invalid_token') return false
      victim = await fixture.newPerson()
      return true
    },
  }
}

/** Starts a separate daemon, with an account that may be deleted. */
export async function onItsOwn(fixture: FuzzFixture): Promise<FuzzFixture> {
  const daemon = await startProcess()
  const token = await daemon.token('full')
  return {
    ...fixture,
    daemon,
    port: (at) => Number(new URL(at === 'api' ? daemon.address : daemon.accountAddress).port),
    fieldsOf: async (who) => (who === 'nobody' ? [] : [['Authorization', `Bearer ${token}`]]),
    restore: async () => false,
  }
}
