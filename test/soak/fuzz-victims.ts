/** Towns whose people are there to go. */
import { startProcess } from './daemon-process.ts'
import type { Town } from './fuzz-town.ts'

/** The same town, whose sessions are those of new people: another when the last one is gone. */
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

/** A daemon of its own, with an account that nothing keeps from being deleted. */
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
