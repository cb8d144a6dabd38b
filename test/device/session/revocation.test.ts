/**
 * Tests revoking another device: the key log contains it, also if another writer is there first.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { publicKeys } from '../../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import { type KeyLog, verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'
import { addDevice, revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import { revoke } from '../../../src/device/session/sign-out.ts'
import { AppError } from '../../../src/errors.ts'
import { enrolled } from '../enrolled.ts'
import { paged } from '../../world/paged.ts'
import { rejects } from '../../rejects.ts'

/** Returns a device with two others in its log, at a server that checks only the order. */
async function household(t: TestContext) {
  const device = await enrolled(t)
  const { identity, clock } = device
  const { sign } = await identity.keys()
  const by = {
    by: identity.device,
    kid: identity.kid,
    seed: sign.secret,
    at: Math.floor(clock.ms / 1000),
  }
  const entries = [...(await identity.keyLog()).entries]
  const log = (): KeyLog => verifyKeyLog(identity.account, entries)
  const others = [0, 1].map(() => {
    const id = newId('dev_', clock.ms)
    entries.push(
      addDevice({ log: log(), device: { id, keys: publicKeys(newDeviceKeys()) }, ...by }),
    )
    return id
  }) as [string, string]
  const seen = { appended: 0, turnedAway: [] as string[] }
  /** Runs before the server accepts an entry; another writer may append first. */
  let faster: () => void = () => undefined
  const home = device.reopen({
    keyLogs: {
      read: async (of) => ({ ...paged(entries, of), seal_keys: [] }),
      append: async ({ body: { entry } }) => {
        seen.appended++
        const before = entries.length
        faster()
        if (entries.length > before) throw new AppError('conflict', 'another came first')
        entries.push(entry)
        log()
        return { seq: entries.length - 1, head: encodeBase64url(entryHash(entry)) }
      },
    },
    devices: {
      ...device.account.devices,
      delete: async ({ id }) => void seen.turnedAway.push(id),
    },
  })
  return {
    home,
    others,
    seen,
    log,
    revokedByOthers: (id: string) =>
      void entries.push(revokeDevice({ log: log(), device: id, ...by })),
    addedByOthers: () =>
      void entries.push(
        addDevice({
          log: log(),
          device: { id: newId('dev_', clock.ms), keys: publicKeys(newDeviceKeys()) },
          ...by,
        }),
      ),
    race: (act: () => void) => {
      faster = act
    },
    revoke: (id: string) => revoke(home, home.account, id),
  }
}

const isActive = (log: KeyLog, id: string) => log.active.some((device) => device.id === id)

describe('revoking another device', () => {
  it('signs it into the key log, and stores that log', async (t) => {
    const { home, others, seen, log, revoke: act } = await household(t)
    await act(others[0])
    assert.deepEqual([isActive(log(), others[0]), isActive(log(), others[1])], [false, true])
    assert.deepEqual([...(await home.identity.keyLog()).entries], log().entries)
    assert.deepEqual([seen.appended, seen.turnedAway], [1, []])
  })

  it('follows an entry that another device added first', async (t) => {
    const { others, seen, log, race, addedByOthers, revoke: act } = await household(t)
    race(() => {
      race(() => undefined)
      addedByOthers()
    })
    await act(others[0])
    assert.deepEqual([isActive(log(), others[0]), seen.appended, log().seq], [false, 2, 4])
  })

  it('that another device revoked first: succeeds, with nothing more to sign', async (t) => {
    const { home, others, race, revokedByOthers, seen, log, revoke: act } = await household(t)
    race(() => revokedByOthers(others[0]))
    await act(others[0])
    await act(others[0])
    assert.deepEqual([seen.appended, seen.turnedAway], [1, []])
    assert.deepEqual([...(await home.identity.keyLog()).entries], log().entries)
  })

  it('gives up after five attempts', async (t) => {
    const { others, race, addedByOthers, seen, log, revoke: act } = await household(t)
    race(addedByOthers)
    await rejects('conflict', act(others[0]))
    assert.equal(seen.appended, 5)
    assert(isActive(log(), others[0]))
  })

  it('that is not in the log is left to the account server to reject', async (t) => {
    const { seen, revoke: act } = await household(t)
    const id = newId('dev_', 0)
    await act(id)
    assert.deepEqual([seen.appended, seen.turnedAway], [0, [id]])
  })

  it('that is this device: the error names countersignd logout', async (t) => {
    const { home, seen, revoke: act } = await household(t)
    await assert.rejects(act(home.identity.device), (error: AppError) => {
      assert.deepEqual([error.code, error.details], ['invalid_state', { state: 'current' }])
      return /countersignd logout/.test(error.message)
    })
    assert.equal(seen.appended, 0)
  })
})
