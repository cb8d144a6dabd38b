/** Replicas that look up public words, and accounts with public codes, without a server. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { codeKey, codeReader, LABEL, windowOf, ZERO_HEAD } from '../../../src/crypto/code.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { newId, parseId } from '../../../src/crypto/encoding/id.ts'
import { preferences } from '../../../src/service/accounts/preferences.ts'
import { keepCode, switchOff } from '../../../src/service/accounts/public-code-rows.ts'
import type { ServiceContext } from '../../../src/service/context.ts'
import { type Background, newBackground } from '../../../src/service/db/background.ts'
import { transactionWithMarks } from '../../../src/service/db/sync-marks.ts'
import { newPublicWords } from '../../../src/service/guests/public-words.ts'
import { newWordBuilder, type WordSizes } from '../../../src/service/guests/word-builder.ts'
import { openServiceDatabase } from '../database.ts'
import type { Place } from '../subject.ts'

/** Returns the words of a code in a window, computed without the module under test. */
export function wordsOf(account: string, k: Uint8Array, window: number) {
  const subject = parseId('acc_', account)
  const key = codeKey({ label: LABEL.public, key: k, subject, epoch: 1, head: ZERO_HEAD })
  return codeReader(key)(window, subject)
}

/** An account as the test expects it. `all`: every secret that it had. */
export interface Speaker {
  readonly id: string
  readonly all: Uint8Array[]
  k: Uint8Array | null
  isOn: boolean
}

/** With these sizes, few codes need the table, in several passes. */
export const SMALL: WordSizes = { stale: 1, direct: 2, pass: 3, windows: 2 }

interface Clock {
  ms: number
}

/**
 * Opens a replica: its look-ups and its builder.
 * @param all the background work of all replicas, to which this adds its own
 */
export async function openReplica(
  t: TestContext,
  place: Place,
  { clock, sizes, all }: { clock: Clock; sizes: WordSizes; all: Background[] },
) {
  const { db, close } = await openServiceDatabase(place)
  const closing = new AbortController()
  const failures: unknown[] = []
  const background = newBackground((_, __, fields) => failures.push(fields))
  all.push(background)
  t.after(async () => {
    closing.abort()
    await background.idle()
    await close()
    assert.deepEqual(failures, [])
  })
  const now = () => clock.ms
  const builder = newWordBuilder({ db, background, now, signal: closing.signal, sizes })
  // Look-ups wait for the builder of this replica, or else of another.
  const pause = () => Promise.all(all.map((one) => one.idle()))
  const words = newPublicWords({ db, now, builder, sizes, pause })
  const build = async () => {
    builder.wake()
    await background.idle()
  }
  return { db, words, build }
}

export type Replica = Awaited<ReturnType<typeof openReplica>>

/** Inserts an account with an approved device, as far as a public code needs them. */
export async function newSpeaker({ db }: Replica, at: number): Promise<Speaker> {
  const id = newId('acc_', at)
  await db.insertInto('accounts').values({ id, kind: 'person', display_name: 'A' }).execute()
  const times = { created_at: at, approved_at: at, revoked_at: null, seen_before_at: null }
  const keys = { keys: null, auth_kid: 'x', seal_key: 'x' }
  await db
    .insertInto('devices')
    .values({
      id: id.replace('acc_', 'dev_'),
      account_id: id,
      name: 'x',
      platform: 'other',
      ...times,
      ...keys,
    })
    .execute()
  return { id, all: [], k: null, isOn: false }
}

let secrets = 0
const newSecret = () => {
  const k = new Uint8Array(32)
  new DataView(k.buffer).setUint32(0, (secrets += 1))
  return k
}

export async function shareCode({ db }: Replica, speaker: Speaker): Promise<void> {
  const k = newSecret()
  const code = { account_id: speaker.id, k: encodeBase64url(k) }
  await transactionWithMarks(db, (trx) => keepCode(trx, code))
  speaker.all.push(k)
  speaker.k = k
}

export async function switchTo({ db }: Replica, speaker: Speaker, on: boolean): Promise<void> {
  const device = speaker.id.replace('acc_', 'dev_')
  const session = { account: speaker.id, device, session: null, token: null }
  await preferences({ db } as ServiceContext).update({ body: { public_code: on } }, session)
  speaker.isOn = on
  if (!on) speaker.k = null
}

/** Does what a revocation of a device and a reset do to the code. */
export async function revoke({ db }: Replica, speaker: Speaker): Promise<void> {
  await transactionWithMarks(db, (trx) => switchOff(trx, speaker.id))
  speaker.isOn = false
  speaker.k = null
}

/** Checks each speaker's words of each secret, in the accepted windows and the next ones. */
export async function check(
  replica: Replica,
  clock: Clock,
  speakers: readonly Speaker[],
): Promise<void> {
  const current = windowOf(clock.ms)
  for (const { id, all, k, isOn } of speakers)
    for (const secret of all.slice(-2))
      for (const drift of [-2, -1, 0, 1, 2]) {
        const window = current + drift
        const found = await replica.words.find(wordsOf(id, secret, window))
        const isFound = isOn && secret === k && Math.abs(drift) <= 1
        assert.deepEqual(found, isFound ? [{ account: id, window }] : [], `${id} ${drift}`)
      }
}
