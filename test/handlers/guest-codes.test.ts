/**
 * Tests guest codes for an external member.
 * The daemon passes their secret on to be mailed, and deletes it together with the external
 * member.
 */
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { LABEL, ZERO_HEAD, codeKey, codeReader, windowOf } from '../../src/crypto/code.ts'
import { newId, parseId } from '../../src/crypto/encoding/id.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { AppError } from '../../src/errors.ts'
import { externalMembers, guestCodes } from '../../src/handlers/guest-codes.ts'
import { type Enrolled, enrolled } from '../device/enrolled.ts'
import { type Letter, lettersIn } from '../service/letters.ts'
import { contextOf } from '../world/requests.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

const TO = 'plumber@example.org'

async function setUp(t: TestContext) {
  const device = await enrolled(t)
  const context = contextOf(device)
  const newExternal = (more: object = {}) =>
    device.account.externalMembers.create({ body: { display_name: 'Plumber', ...more } })
  const newGuest = async (external_member_id: string | null = null) => {
    const body = { label: 'Kitchen', expires_in: 3600, external_member_id }
    return guestCodes.create({ body }, context)
  }
  return { device, context, newExternal, newGuest }
}

/** Returns the words that a guest reads now through the link. */
function wordsOf({ id, url }: { id: string; url: string }, { clock }: Enrolled): string {
  const subject = parseId('gst_', id)
  const key = Buffer.from(new URL(url).hash.slice(1), 'base64url')
  const read = codeReader(codeKey({ label: LABEL.guest, key, subject, epoch: 1, head: ZERO_HEAD }))
  return wordsAt(read(windowOf(clock.ms), subject)).join(' ')
}
const isVerified = async (device: Enrolled, words: string) =>
  (await device.verifier.verify(words, null)).verified

/** Returns the mails to an address, once there is one. The mail is written in the background. */
const lettersTo = (device: Enrolled, address: string): Promise<Letter[]> =>
  until(`a letter to ${address}`, async () => {
    const letters = await lettersIn(device.mail, address)
    return letters.length > 0 ? letters : undefined
  })

describe('sending a guest code', () => {
  it('mails the displayed link, to the external member or to another address', async (t) => {
    const { device, context, newExternal, newGuest } = await setUp(t)
    const { id: external } = await newExternal({ email: TO })
    const made = await newGuest(external)
    assert.equal(made.external_member_id, external)
    const sent = await guestCodes.send({ id: made.id, body: { channel: 'email' } }, context)
    const { url: _url, reachable: _reachable, ...guest } = made
    // The mails of this account server are written to a folder.
    assert.deepEqual(sent, { ...guest, mailed: false })
    const other = 'other@example.org'
    await guestCodes.send({ id: made.id, body: { channel: 'email', to: other } }, context)
    for (const address of [TO, other]) {
      const [letter, ...more] = await lettersTo(device, address)
      assert.deepEqual(more, [])
      assert.ok(letter?.text.split('\n').includes(`    ${made.url}`), letter?.text)
    }
  })

  it('rejects ended and unknown codes, codes without a secret here, and a missing address', async (t) => {
    const { device, context, newGuest } = await setUp(t)
    const [revoked, ended, expired, away] = [
      await newGuest(),
      await newGuest(),
      await newGuest(),
      await newGuest(),
    ]
    await guestCodes.delete({ id: revoked.id }, context)
    // Deleted by another device; this one has not synced it yet.
    await device.account.guestCodes.delete({ id: ended.id })
    device.vault.delete(away.id)
    const send = (id: string, to: { to?: string } = { to: TO }) =>
      guestCodes.send({ id, body: { channel: 'email', ...to } }, context)
    for (const { id } of [revoked, ended])
      await rejects('invalid_state', send(id), { state: 'revoked' })
    await rejects('secret_unavailable', send(away.id))
    for (const none of ['gst_none', newId('gst_', 1)]) await rejects('not_found', send(none))
    await rejects('validation_failed', send(expired.id, {}))
    device.clock.ms += 3600_000
    await rejects('invalid_state', send(expired.id), { state: 'expired' })
    assert.deepEqual(await lettersIn(device.mail, TO), [])
  })
})

describe('deleting an external member', () => {
  it('removes the name of the member from matches and the log', async (t) => {
    const { device, context, newExternal, newGuest } = await setUp(t)
    const { id, display_name } = await newExternal({ display_name: 'Maria Muster' })
    const guest = await newGuest(id)
    assert.deepEqual(guest.external_member, { id, display_name })
    const { summary, matches } = await device.reopen().verifier.verify(wordsOf(guest, device), null)
    assert.equal(summary, 'Verified: the words of guest "Kitchen" (Maria Muster).')
    assert.deepEqual(matches[0]?.external_member, { id, display_name })
    await device.sync.run('request')
    const { items } = await device.account.verificationLog.list({})
    // Fields that hold only at the time of the check are not logged.
    const { conclusive: _c, name_source: _s, name_marks: _m, ...match } = matches[0]!
    assert.deepEqual(items[0]?.matches, [match])
    const stored = () => JSON.stringify(device.state.guests.all())
    assert.ok(stored().includes(display_name))
    await externalMembers.delete({ id }, context)
    assert.ok(!stored().includes(display_name))
  })

  it('deletes the secrets of their guest codes at once, and no others', async (t) => {
    const { device, context, newExternal, newGuest } = await setUp(t)
    const [gone, stays] = [await newExternal(), await newExternal()]
    const theirs = [await newGuest(gone.id), await newGuest(gone.id)]
    const spared = [await newGuest(stays.id), await newGuest()]
    assert.ok(await isVerified(device, wordsOf(theirs[0]!, device)))

    assert.equal(await externalMembers.delete({ id: gone.id }, context), undefined)
    device.clock.ms += 60_000
    for (const one of [device, device.reopen()]) {
      for (const guest of theirs) {
        assert.equal(await isVerified(one, wordsOf(guest, device)), false)
        assert.deepEqual([one.vault.has(guest.id), one.codes.own(guest.id, 0)], [false, null])
      }
    }
    for (const guest of spared) assert.ok(await isVerified(device, wordsOf(guest, device)))
    const { items } = await guestCodes.list({ limit: 50 }, context)
    const shown = items.map(({ id, state, secret_here, external_member_id: of, code }) => {
      return { id, state, secret_here, of, speaks: code !== null }
    })
    const active = { state: 'active', secret_here: true, speaks: true }
    const ended = { state: 'revoked', secret_here: false, speaks: false, of: null }
    assert.deepEqual(shown, [
      { id: spared[1]!.id, ...active, of: null },
      { id: spared[0]!.id, ...active, of: stays.id },
      { id: theirs[1]!.id, ...ended },
      { id: theirs[0]!.id, ...ended },
    ])
    await device.sync.run('request')
    for (const guest of theirs) assert.equal(device.vault.has(guest.id), false)
    await rejects('not_found', externalMembers.delete({ id: gone.id }, context))
  })

  it('deletes nothing for an unknown member, or after an error of the account server', async (t) => {
    const { device, context, newExternal, newGuest } = await setUp(t)
    const { id } = await newExternal()
    const guest = await newGuest(id)
    for (const none of ['x', 'ext_', `${id}0`, newId('ext_', 1), guest.id])
      await rejects('not_found', externalMembers.delete({ id: none }, context))
    const away = () => Promise.reject(new AppError('backend_unavailable', 'away'))
    const { guestCodes: codes, externalMembers: members } = device.account
    for (const parts of [
      { externalMembers: { ...members, delete: away } },
      { guestCodes: { ...codes, list: away } },
    ])
      await rejects('backend_unavailable', externalMembers.delete({ id }, contextOf(device, parts)))
    assert.ok(await isVerified(device, wordsOf(guest, device)))
    assert.deepEqual((await device.account.externalMembers.list({})).items.length, 1)
  })

  it('after a lost answer, the retry deletes the secrets of the codes revoked by the first', async (t) => {
    const { device, newExternal, newGuest } = await setUp(t)
    const { id } = await newExternal()
    const [guest, spared] = [await newGuest(id), await newGuest()]
    const members = device.account.externalMembers
    const lost = async (input: { id: string }) => {
      await members.delete(input)
      throw new AppError('backend_unavailable', 'The answer was lost.')
    }
    const lossy = contextOf(device, { externalMembers: { ...members, delete: lost } })
    await rejects('backend_unavailable', externalMembers.delete({ id }, lossy))
    await rejects('not_found', externalMembers.delete({ id }, contextOf(device)))
    assert.equal(await isVerified(device, wordsOf(guest, device)), false)
    assert.ok(await isVerified(device, wordsOf(spared, device)))
  })

  it('a guest code for an unknown external member is rejected, and nothing is stored', async (t) => {
    const { device, newGuest } = await setUp(t)
    await rejects('not_found', newGuest(newId('ext_', 1)))
    assert.deepEqual([device.state.guests.all(), device.state.secrets.ids()], [[], []])
  })
})
