/**
 * Tests guest codes that a dishonest account server lists.
 * The name and the end of a guest code are those that the user gave on the device that made it.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import type { GuestCode } from '../../../src/api/rest/guest-codes.ts'
import { LABEL, ZERO_HEAD, codeKey, codeReader, windowOf } from '../../../src/crypto/code.ts'
import { parseId } from '../../../src/crypto/encoding/id.ts'
import { wordsAt } from '../../../src/crypto/words.ts'
import { guestCodes } from '../../../src/handlers/guest-codes.ts'
import { at } from '../../world/requests.ts'
import { type DeviceUser, worldOf } from '../../world/world.ts'

const HOUR_S = 3600

const made = (user: DeviceUser) =>
  guestCodes.create({ body: { label: 'Plumber', expires_in: HOUR_S } }, at(user))

/** Returns the words that a guest reads by the link at a time in Unix milliseconds. */
function wordsOf({ id, url }: { id: string; url: string }, ms: number): string {
  const subject = parseId('gst_', id)
  const key = Buffer.from(new URL(url).hash.slice(1), 'base64url')
  const read = codeReader(codeKey({ label: LABEL.guest, key, subject, epoch: 1, head: ZERO_HEAD }))
  return wordsAt(read(windowOf(ms), subject)).join(' ')
}

/** An account server that lists each guest code with these members. */
const listing =
  (lie: Partial<GuestCode>) =>
  (account: Account): Account => ({
    ...account,
    guestCodes: {
      ...account.guestCodes,
      async list(page) {
        const { items, next_cursor } = await account.guestCodes.list(page)
        return { items: items.map((item) => ({ ...item, ...lie })), next_cursor }
      },
    },
  })

describe('a guest code that the account server lists with other values', () => {
  it('keeps its label in lists and verifications', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const guest = await made(ada)
    const external_member = { id: 'ext_00000000000000000000000000', display_name: 'Mum' }
    const there = ada.restart(listing({ label: 'Mum', external_member }))
    await there.sync()
    const verified = await there.hears(wordsOf(guest, world.clock.ms))
    assert.equal(verified.summary, 'Verified: the words of guest "Plumber".')
    const { items } = await guestCodes.list({ limit: 50 }, at(there))
    assert.equal(items[0]?.label, 'Plumber')
  })

  it('expires when the user chose, although the server lists a later time', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const guest = await made(ada)
    const expires_at = '2099-01-01T00:00:00.000Z'
    const there = ada.restart(listing({ state: 'active', expires_at }))
    await there.sync()
    world.later(61)
    await there.sync()
    assert.equal((await there.hears(wordsOf(guest, world.clock.ms))).verified, false)
  })

  it('expires earlier if the server lists an earlier time', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const guest = await made(ada)
    const soon = new Date(world.clock.ms + 5 * 60_000).toISOString()
    const there = ada.restart(listing({ expires_at: soon }))
    await there.sync()
    assert.equal((await there.hears(wordsOf(guest, world.clock.ms))).verified, true)
    world.later(6)
    assert.equal((await there.hears(wordsOf(guest, world.clock.ms))).verified, false)
  })

  it('has the requested values, although the answer to its creation has others', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const there = ada.restart((account) => ({
      ...account,
      deviceGuestCodes: {
        ...account.deviceGuestCodes,
        async create(input) {
          const guest = await account.deviceGuestCodes.create(input)
          const external_member = { id: 'ext_00000000000000000000000000', display_name: 'Mum' }
          const expires_at = '2099-01-01T00:00:00.000Z'
          return { ...guest, label: 'Mum', external_member, expires_at }
        },
      },
    }))
    await there.sync()
    const guest = await made(there)
    assert.deepEqual([guest.label, guest.state], ['Plumber', 'active'])
    const verified = await there.hears(wordsOf(guest, world.clock.ms))
    assert.equal(verified.summary, 'Verified: the words of guest "Plumber".')
    world.later(61)
    assert.equal((await there.hears(wordsOf(guest, world.clock.ms))).verified, false)
  })
})
