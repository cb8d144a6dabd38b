/**
 * The table of words of public codes. After any history of changes, a look-up with the table
 * returns the same as one that computes the words of all codes. For every engine.
 */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { windowOf } from '../../../src/crypto/code.ts'
import { newPublicWords } from '../../../src/service/guests/public-words.ts'
import { rejects } from '../../rejects.ts'
import { chance } from '../../soak/chance.ts'
import type { Engine } from '../engines.ts'
import {
  check,
  newSpeaker,
  openReplica,
  type Replica,
  revoke,
  shareCode,
  SMALL,
  type Speaker,
  switchTo,
  wordsOf,
} from './speakers.ts'

const MINUTE = 60_000

const tableOf = async ({ db }: Replica) => {
  const windows = await db.selectFrom('public_word_windows').selectAll().orderBy('window').execute()
  const rows = await db.selectFrom('public_words').select('window').distinct().execute()
  return {
    windows: windows.map(({ window }) => window),
    stored: rows.map(({ window }) => window).toSorted((a, b) => a - b),
  }
}

export function publicWordsSuite(name: string, { newPlace, replicas }: Engine): void {
  describe(`the table of public words: ${name}`, () => {
    /** Opens two replicas on PostgreSQL, and one on SQLite. */
    async function open(t: TestContext, sizes = SMALL) {
      const place = await newPlace()
      const clock = { ms: Date.UTC(2026, 0, 1) }
      const of = { clock, sizes, all: [] }
      const first = await openReplica(t, place, of)
      const second = replicas ? await openReplica(t, place, of) : first
      const speakers: Speaker[] = []
      const add = async () => {
        const speaker = await newSpeaker(first, clock.ms)
        await shareCode(first, speaker)
        await switchTo(first, speaker, true)
        speakers.push(speaker)
        return speaker
      }
      return { clock, first, second, both: [first, second], speakers, add }
    }

    test('after any history, a look-up finds the code of the words and no other', async (t) => {
      const luck = chance(t)
      const { clock, both, speakers, add } = await open(t)
      for (let i = 0; i < 7; i++) await add()
      for (let round = 0; round < 20; round++) {
        const replica = luck.of(both)
        const speaker = luck.of(speakers)
        const steps: (() => Promise<unknown>)[] = [
          () => add(),
          () => shareCode(replica, speaker),
          () => shareCode(replica, speaker).then(() => switchTo(replica, speaker, true)),
          () => switchTo(replica, speaker, false),
          () => revoke(replica, speaker),
          async () => {
            await replica.db.deleteFrom('accounts').where('id', '=', speaker.id).execute()
            speaker.isOn = false
            speakers.splice(speakers.indexOf(speaker), 1)
          },
          async () => (clock.ms += MINUTE * luck.of([1, 1, 3, 9, 500, -1, -4, -30])),
          () => replica.build(),
          // PostgreSQL does this after a crash.
          () =>
            replica.db.transaction().execute(async (trx) => {
              await trx.deleteFrom('public_word_windows').execute()
              await trx.deleteFrom('public_words').execute()
            }),
        ]
        await luck.of(steps)()
        const checked = [luck.of(speakers), luck.of(speakers)]
        await check(luck.of(both), clock, checked)
      }
      for (const replica of both) await check(replica, clock, speakers)
    })

    test('look-ups find codes that are changed and kept at the same time', async (t) => {
      const { clock, both, speakers, add, first, second } = await open(t)
      for (let i = 0; i < 6; i++) await add()
      await first.build()
      for (let round = 0; round < 10; round++) {
        clock.ms += MINUTE
        const window = windowOf(clock.ms)
        const found = await Promise.all([
          ...both.flatMap(({ words }) =>
            speakers.map(async ({ id, k }) => (await words.find(wordsOf(id, k!, window))).length),
          ),
          // Switches codes on that are on.
          ...speakers.map(async (speaker) => switchTo(second, speaker, true).then(() => 1)),
          ...both.map(({ build }) => build().then(() => 1)),
        ])
        assert(
          found.every((count) => count === 1),
          String(found),
        )
      }
    })

    test('is computed for the next windows, and deleted for the windows before', async (t) => {
      const { clock, first, add } = await open(t)
      for (let i = 0; i < 7; i++) await add()
      await first.build()
      const current = windowOf(clock.ms)
      const { windows, stored } = await tableOf(first)
      assert.deepEqual(windows, stored)
      for (let window = current - 1; window <= current + 5; window++)
        assert(windows.includes(window), String(window - current))
      for (const minutes of [4, 100, -90]) {
        clock.ms += minutes * MINUTE
        await first.build()
        const now = windowOf(clock.ms)
        const later = await tableOf(first)
        assert.deepEqual(later.windows, later.stored)
        assert(later.windows.every((window) => window >= now - 2 && window <= now + 10))
        assert(later.windows.includes(now + 5))
      }
    })

    test('is not used for few codes', async (t) => {
      const { clock, first, speakers, add } = await open(t, { ...SMALL, stale: 9, direct: 9 })
      for (let i = 0; i < 7; i++) await add()
      await first.build()
      await check(first, clock, speakers)
      assert.deepEqual(await tableOf(first), { windows: [], stored: [] })
    })

    test('a look-up fails while the words of many codes are missing', async (t) => {
      const { clock, first, add } = await open(t)
      const { id, k } = await add()
      for (let i = 0; i < 7; i++) await add()
      let woken = 0
      const builder = { wake: () => void (woken += 1) }
      const idle = newPublicWords({
        db: first.db,
        now: () => clock.ms,
        builder,
        sizes: SMALL,
        pause: async () => undefined,
      })
      const words = wordsOf(id, k!, windowOf(clock.ms))
      const { headers } = await rejects('backend_unavailable', idle.find(words))
      assert.deepEqual(headers, { 'Retry-After': '5' })
      assert(woken > 1)
      await first.build()
      assert.equal((await idle.find(words)).length, 1)
    })

    test('an entry of a code that has other words is not confirmed', async (t) => {
      const { clock, first, speakers, add } = await open(t)
      for (let i = 0; i < 4; i++) await add()
      await first.build()
      const { id, k } = speakers[0]!
      const window = windowOf(clock.ms)
      const words = wordsOf(id, k!, window)
      const { turn } = await first.db
        .selectFrom('public_codes')
        .select('turn')
        .where('account_id', '=', speakers[1]!.id)
        .executeTakeFirstOrThrow()
      const of = first.db.selectFrom('public_words').select('entries')
      const [row] = await of
        .where('window', '=', window)
        .where('first_word', '=', words[0])
        .execute()
      const own = Buffer.from(row!.entries.subarray(0, 9))
      const forged = Buffer.from(own)
      forged.writeUIntBE(turn, 3, 6)
      const entries = Buffer.concat([forged, own])
      await first.db
        .updateTable('public_words')
        .set({ entries })
        .where('window', '=', window)
        .where('first_word', '=', words[0])
        .execute()
      assert.deepEqual(await first.words.find(words), [{ account: id, window }])
    })
  })
}
