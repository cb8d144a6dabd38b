/**
 * Tests signing out: the account is notified first, and the last device is not removed by
 * mistake.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import { AppError } from '../../../src/errors.ts'
import { testServer } from './sign-in-server.ts'
import { EMAIL, away, newLaptop, refusedWith } from './signing-in.ts'

describe('sign-out', () => {
  it('of the last device needs a confirmation; then the account has no device', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const { account } = laptop.identity()
    await assert.rejects(
      laptop.flow.end({ last_device: false, forget: false }),
      refusedWith('invalid_state', /countersignd reset[^]*keys changed/, 'last_device'),
    )
    assert.equal((await laptop.flow.read()).state, 'signed_in')
    await laptop.flow.end({ last_device: true, forget: false })
    assert.equal((await laptop.flow.read()).state, 'signed_out')
    assert.deepEqual(server.logOf(account).active, [])
    for (const name of ['device', 'session']) assert.equal(laptop.keychain.get(name), null)
  })

  it('while the server is unreachable: rejected, nothing changes, and it works later', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const keys = laptop.keychain.get('device')
    for (const dead of [{ read: away }, { append: away }]) {
      const offline = laptop.restart({
        account: (account) => ({ ...account, keyLogs: { ...account.keyLogs, ...dead } }),
      })
      await assert.rejects(
        offline.flow.end({ last_device: true, forget: false }),
        refusedWith('backend_unavailable', /^Not signed out.*The server is away/),
      )
      assert.equal((await offline.flow.read()).state, 'signed_in')
      assert.equal(laptop.keychain.get('device'), keys)
    }
    await laptop.restart().flow.end({ last_device: true, forget: false })
  })

  it('of a device that was revoked elsewhere needs logout --forget', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const { account, device, kid, keys, keyLog } = laptop.identity()
    const { secret: seed } = (await keys()).sign
    const entry = revokeDevice({ log: await keyLog(), device, by: device, kid, seed, at: 1 })
    await laptop.seat.account().keyLogs.append({ body: { entry } })
    await assert.rejects(
      laptop.flow.end({ last_device: false, forget: false }),
      refusedWith('invalid_state', /countersignd logout --forget/, 'unknown_here'),
    )
    assert.equal((await laptop.flow.read()).state, 'signed_in')
    await laptop.flow.end({ last_device: false, forget: true })
    assert.equal((await laptop.flow.read()).state, 'signed_out')
    assert.equal(server.logOf(account).seq, 1)
  })

  it('sends local changes to the account first', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const done: string[] = []
    const syncing = laptop.restart({
      handOver: async () => {
        done.push('hand over')
        return { verifications: 0, stamps: 2 }
      },
      account: (account) => ({
        ...account,
        keyLogs: {
          ...account.keyLogs,
          append: async (input) => {
            done.push('leave')
            return account.keyLogs.append(input)
          },
        },
      }),
    })
    await syncing.flow.end({ last_device: true, forget: false })
    assert.deepEqual(done, ['hand over', 'leave'])
    assert.match(JSON.stringify(syncing.logged), /did not accept.*"verifications":0,"stamps":2/)
  })

  it('signs nothing for a server that returns an older log than before', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    await newLaptop(t, server, 'other').signIn({ email: 'bob@example.org' })
    const { account } = laptop.identity()
    const [, other = ''] = server.accounts()
    server.logs.set(account, server.logs.get(other) as string[])
    await assert.rejects(
      laptop.flow.end({ last_device: true, forget: false }),
      refusedWith('backend_error', /invalid key log/),
    )
    assert.equal((await laptop.flow.read()).state, 'signed_in')
  })

  it('repeats the signature after entries of other devices, a limited number of times', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const cases: [losses: number, ends: boolean][] = [
      [9, false],
      [4, true],
    ]
    for (const [losses, ends] of cases) {
      let left = losses
      const contested = laptop.restart({
        account: (account) => ({
          ...account,
          keyLogs: {
            ...account.keyLogs,
            append: async (input) => {
              if (left === 0) return account.keyLogs.append(input)
              left -= 1
              throw new AppError('conflict', 'another came first')
            },
          },
        }),
      })
      const end = contested.flow.end({ last_device: true, forget: false })
      if (ends) await end
      else await assert.rejects(end, refusedWith('conflict', /another came first/))
    }
  })

  it('without an account: not_signed_in; a code that was sent is discarded', async (t) => {
    const server = testServer()
    const { flow } = newLaptop(t, server)
    await assert.rejects(
      flow.end({ last_device: false, forget: false }),
      refusedWith('not_signed_in', /No account/),
    )
    await flow.begin(EMAIL)
    await flow.end({ last_device: false, forget: false })
    assert.equal((await flow.read()).state, 'signed_out')
  })
})
