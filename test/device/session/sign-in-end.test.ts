/**
 * Tests signing out: the account is notified first, and the last device is not removed by
 * mistake.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import { AppError } from '../../../src/errors.ts'
import { newWorld } from '../../world/world.ts'
import { EMAIL, newLaptop } from './signing-in.ts'
import { rejects } from '../../rejects.ts'
import { away, instead } from '../../world/interceptor.ts'
import { paged } from '../../world/paged.ts'

describe('sign-out', () => {
  it('of the last device needs a confirmation; then the account has no device', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const { account } = laptop.identity()
    await rejects('invalid_state', laptop.flow.end({ last_device: false, forget: false }), {
      state: 'last_device',
      says: /countersignd reset[^]*keys changed/,
    })
    assert.equal((await laptop.flow.read()).state, 'signed_in')
    await laptop.flow.end({ last_device: true, forget: false })
    assert.equal((await laptop.flow.read()).state, 'signed_out')
    assert.deepEqual(server.logOf(account).active, [])
    for (const name of ['device', 'session']) assert.equal(laptop.keychain.get(name), null)
  })

  it('while the server is unreachable: rejected, nothing changes, and it works later', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const keys = laptop.keychain.get('device')
    for (const dead of ['read', 'append'] as const) {
      const offline = laptop.restart({ account: instead('keyLogs', dead, () => away) })
      await rejects('backend_unavailable', offline.flow.end({ last_device: true, forget: false }), {
        says: /^Not signed out.*The server is away/,
      })
      assert.equal((await offline.flow.read()).state, 'signed_in')
      assert.equal(laptop.keychain.get('device'), keys)
    }
    await laptop.restart().flow.end({ last_device: true, forget: false })
  })

  it('of a device that was revoked elsewhere needs logout --forget', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const { account, device, kid, keys, keyLog } = laptop.identity()
    const { secret: seed } = (await keys()).sign
    const entry = revokeDevice({ log: await keyLog(), device, by: device, kid, seed, at: 1 })
    await laptop.deviceSession.account().keyLogs.append({ body: { entry } })
    await rejects('invalid_state', laptop.flow.end({ last_device: false, forget: false }), {
      state: 'unknown_here',
      says: /countersignd logout --forget/,
    })
    assert.equal((await laptop.flow.read()).state, 'signed_in')
    await laptop.flow.end({ last_device: false, forget: true })
    assert.equal((await laptop.flow.read()).state, 'signed_out')
    assert.equal(server.logOf(account).seq, 1)
  })

  it('sends local changes to the account first', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const done: string[] = []
    const syncing = laptop.restart({
      handOver: async () => {
        done.push('hand over')
        return { verifications: 0, stamps: 2 }
      },
      account: instead('keyLogs', 'append', (honest) => (input) => {
        done.push('leave')
        return honest(input)
      }),
    })
    await syncing.flow.end({ last_device: true, forget: false })
    assert.deepEqual(done, ['hand over', 'leave'])
    assert.match(JSON.stringify(syncing.logged), /did not accept.*"verifications":0,"stamps":2/)
  })

  it('signs nothing for a server that returns an older log than before', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    await newLaptop(t, server, 'other').signIn({ email: 'bob@example.org' })
    const [, other = ''] = server.accounts()
    const lied = laptop.restart({
      account: instead('keyLogs', 'read', () => async (of) => ({
        ...paged(server.entries(other), of),
        seal_keys: [],
      })),
    })
    await rejects('backend_error', lied.flow.end({ last_device: true, forget: false }), {
      says: /invalid key log/,
    })
    assert.equal((await laptop.flow.read()).state, 'signed_in')
  })

  it('repeats the signature after entries of other devices, a limited number of times', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const cases: [losses: number, ends: boolean][] = [
      [9, false],
      [4, true],
    ]
    for (const [losses, ends] of cases) {
      let left = losses
      const contested = laptop.restart({
        account: instead('keyLogs', 'append', (honest) => async (input) => {
          if (left === 0) return honest(input)
          left -= 1
          throw new AppError('conflict', 'another came first')
        }),
      })
      const end = contested.flow.end({ last_device: true, forget: false })
      if (ends) await end
      else await rejects('conflict', end, { says: /another came first/ })
    }
  })

  it('without an account: not_signed_in; a code that was sent is discarded', async (t) => {
    const server = await newWorld(t)
    const { flow } = newLaptop(t, server)
    await rejects('not_signed_in', flow.end({ last_device: false, forget: false }), {
      says: /No account/,
    })
    await flow.begin(EMAIL)
    await flow.end({ last_device: false, forget: false })
    assert.equal((await flow.read()).state, 'signed_out')
  })
})
