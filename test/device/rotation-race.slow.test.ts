/**
 * Tests 200 members who all see one revocation: it causes one rotation, and all agree on it. They
 * race at an account server, by its compare-and-swap and its Idempotency-Keys.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { lastPlace } from '../../src/crypto/logs/chain.ts'
import {
  type KeyLogs,
  type Roster,
  heldMembers,
  readRosterEntry,
  rotationDue,
  verifyRoster,
} from '../../src/crypto/logs/roster.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { newRotationWaits } from '../../src/device/logs/hold-ups.ts'
import { AppError } from '../../src/errors.ts'
import {
  type Member,
  type Place,
  type Post,
  MEMBERS,
  newCrowd,
  postingBy,
  rotating,
  rotationOf,
  secretOf,
} from './crowd.ts'
import { gate } from './enrolled.ts'
import { type DeviceUser, verifies } from '../world/world.ts'

const SECOND = 1000

/** Returns what a device stores of an epoch. */
const seen = (roster: Roster) => ({
  epoch: roster.epoch,
  head: encodeBase64url(roster.epochHead),
  members: roster.members.map(({ account }) => account),
})

test('a revocation that 200 members see', async (t) => {
  const { world, ada, bob, cy, all, id, read } = await newCrowd(t)
  const { roster, keyLogs: after } = read
  const { entries } = roster
  const [, victim] = all
  const before = new Map(after).set(bob.id, victim!.log)
  assert.equal(roster.members.length, MEMBERS)
  assert.deepEqual(heldMembers(roster, after), [bob.id])

  const nobodyIsDue = (of: Roster, logs: KeyLogs) =>
    assert.deepEqual(
      all.filter(({ account }) => rotationDue(of, logs, account) !== null),
      [],
    )
  const postOf = async (member: Member, known = read) =>
    (await rotationOf(member, known)) ?? assert.fail('a rotation is due for each')
  const entryOf = async (member: Member) => (await postOf(member)).body.entry

  await t.test('at once: each rotation covers it for all, and any two are a fork', async () => {
    const racing = [0, 1, 2, 99, 199].map((at) => all[at]!)
    const rotations = []
    for (const member of racing) rotations.push(await entryOf(member))
    for (const entry of rotations) {
      const next = verifyRoster(id, [...entries, entry], after)
      assert.deepEqual([next.epoch, heldMembers(next, after)], [2, []])
      nobodyIsDue(next, after)
    }
    const both = [...entries, ...rotations.slice(-2)]
    assert.throws(
      () => verifyRoster(id, both, after),
      (error) => error instanceof Refusal && error.reason === 'roster_forked',
    )
  })

  await t.test('each after its wait: the shortest wait makes one entry', async () => {
    let now = 0
    const waiting = all
      .filter((member) => member !== victim)
      .map((member, at) => {
        const random = () => ((at * 7919 + 31) % 199) / 199
        const waits = newRotationWaits({
          now: () => now,
          wake: () => undefined,
          after: () => undefined,
          random,
        })
        return { member, waits, shortest: random() === 0 }
      })
    const server = [...entries]
    const first = waiting.find(({ shortest }) => shortest)!
    /** The connection by a device’s state: all that the server had at its last sync. */
    let known = read
    for (; now <= 600 * SECOND; now += 30 * SECOND)
      for (const { member, waits } of waiting) {
        const due = rotationDue(known.roster, after, member.account)
        if (due === null || !waits.isOver(known.roster)) continue
        server.push((await postOf(member, known)).body.entry)
        known = { ...read, roster: verifyRoster(id, server, after) }
        assert.equal(member, first.member)
      }
    assert.equal(server.length, entries.length + 1)
    nobodyIsDue(known.roster, after)
  })

  await t.test('at different times: covers also devices that wait for the named log', async () => {
    const rotated = [...entries, await entryOf(all[3]!)]
    const [knowing, late] = [after, before].map((logs) => verifyRoster(id, rotated, logs))
    assert.deepEqual(seen(late!), seen(knowing!))
    assert.deepEqual([knowing!.unfit, late!.unfit], [[], [bob.id]])
    nobodyIsDue(late!, before)
    // The revocation that comes now is covered already.
    assert.deepEqual(heldMembers(verifyRoster(id, rotated, after), after), [])
  })

  await t.test('at an account server: one entry is stored, and all have its secret', async () => {
    const stored = async () => (await cy.account().rosters.read({ connection: id })).entries
    /** The heads that the server named to members whose entry came too late. */
    const heads: unknown[] = []
    async function noting(send: () => Promise<Place>): Promise<Place> {
      try {
        return await send()
      } catch (error) {
        if (error instanceof AppError && error.code === 'conflict') heads.push(error.details.head)
        throw error
      }
    }
    const isLate = (send: () => Promise<Place>) =>
      assert.rejects(noting(send), { code: 'conflict' })

    // All decide by what they have read, before any of their requests arrives.
    const members = all.slice(3)
    let isKilled = true
    const decided: (() => Promise<Place>)[] = []
    for (const member of members) {
      const post = await postOf(member)
      const send = postingBy(world, member.account, async (request) => {
        const answer = await member.server.rosters.append(request)
        if (member === members[0] && isKilled) throw new Error('killed')
        return answer
      })
      decided.push(() => send(post))
    }
    const [killed, offline, ...others] = decided
    const start = gate()
    /** The whole devices that posted, once for each request. */
    const posted: DeviceUser[] = []
    const byKey = new Map(
      [ada, bob, cy].map((user) => {
        const append = (post: Post) => user.account().rosters.append(post)
        return [user, postingBy(world, user.id, append)]
      }),
    )
    const race = (user: DeviceUser, send: (post: Post) => Promise<Place>) =>
      rotating(user, id, async (post) => {
        posted.push(user)
        await start.promise
        return send(post)
      })
    let lost: { post: Post; answer: Place } | undefined
    const adas = await race(ada, async (post) => {
      lost = { post, answer: await byKey.get(ada)!(post) }
      throw new AppError('backend_unavailable', 'The device ended before the answer came.')
    })
    const bobs = await race(bob, (post) => noting(() => byKey.get(bob)!(post)))
    const cys = await race(cy, (post) => noting(() => byKey.get(cy)!(post)))

    // The server is killed while it stores the first entry.
    await assert.rejects(killed!(), /killed/)
    assert.deepEqual(await stored(), entries)
    isKilled = false
    const racing = others.map(async (send) => {
      await start.promise
      await isLate(send)
    })
    start.resolve()
    await assert.rejects(adas.sealed, { code: 'backend_unavailable' })
    assert.deepEqual([await bobs.sealed, await cys.sealed], [0, 0])
    await Promise.all(racing)
    // One repeats its request after the restart of the server, and one was offline meanwhile.
    await isLate(killed!)
    await isLate(offline!)
    // So does the device whose entry was stored.
    const { post, answer } = lost!
    assert.deepEqual(await byKey.get(ada)!(post), answer)

    const now = await stored()
    const entry = now.at(-1)!
    assert.deepEqual(now, [...entries, post.body.entry])
    assert.equal(answer.head, encodeBase64url(entryHash(entry)))
    assert.equal(readRosterEntry(entry).actor, ada.id)
    assert.equal(heads.length, MEMBERS - 1)
    assert.deepEqual([...new Set(heads)], [answer.head])

    const next = verifyRoster(id, now, after, lastPlace(entries))
    assert.deepEqual([next.epoch, heldMembers(next, after)], [2, []])
    for (const user of [ada, bob, cy]) await user.restart().sync()
    const secretAt = (user: DeviceUser) => new Uint8Array(user.restart().device().vault.get(id)!)
    const secret = secretAt(ada)
    for (const user of [bob, cy])
      assert.deepEqual([user.state.connections.get(id)?.epoch, secretAt(user)], [2, secret])
    for (const member of members) {
      const again = await member.server.rosters.read({ connection: id, from: roster.seq })
      assert.deepEqual(again.entries, [entries.at(-1), entry])
      assert.equal(await rotationOf(member, { ...read, roster: next }), null)
      assert.deepEqual(await secretOf(member, next), secret)
    }
    assert.deepEqual(posted, [ada, bob, cy])
    assert.deepEqual(await stored(), now)
    world.later()
    assert(await verifies(bob.restart(), cy.restart(), id))
  })
})
