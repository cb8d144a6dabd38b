/**
 * The history of a trust card. It merges the account server's events with events from the verified
 * key log, newest first. A cursor contains a position in each of the two lists.
 */
import { every, readCursor } from '../api/cursor.ts'
import type { Account } from '../api/port.ts'
import type { TrustEvent } from '../api/rest/trust-cards.ts'
import { encodeBase64url } from '../crypto/encoding/base64url.ts'
import { orStored } from '../device/copies/copies.ts'
import type { LocalDevice } from '../device/device.ts'
import { rememberedLog } from '../device/identity/key-log-cache.ts'
import { type KeyEvent, keyEvents } from '../device/logs/trust-history.ts'
import { examine } from '../device/trust/trust-keys.ts'

type Input = Parameters<Account['trustCards']['history']>[0]
type Page = Awaited<ReturnType<Account['trustCards']['history']>>

interface Place {
  /** The next page begins with the newest key log entry below this seq. */
  readonly seq: number
  /** The account server's cursor: undefined at the beginning, null at the end. */
  readonly theirs: string | null | undefined
}

const START: Place = { seq: Number.MAX_SAFE_INTEGER, theirs: undefined }
const END = '.'
const NOTHING: Page = { items: [], next_cursor: null }

const PLACE = /^(\d{1,16}) ([\w-]*|\.)$/

function readPlace(cursor: string | undefined): Place {
  const [, seq, theirs] = readCursor(cursor, (text) => PLACE.test(text))?.match(PLACE) ?? []
  if (seq === undefined) return START
  return { seq: Number(seq), theirs: theirs === END ? null : theirs || undefined }
}

const cursorOf = ({ seq, theirs }: Place): string =>
  encodeBase64url(new TextEncoder().encode(`${seq} ${theirs === null ? END : (theirs ?? '')}`))

/**
 * Returns an account's device names by signing key. The account server lists only valid devices.
 */
async function deviceNames(account: Account, id: string): Promise<ReadonlyMap<string, string>> {
  const keys = await every((query) => account.profiles.keys({ id, ...query }))
  return new Map(keys.map((key) => [key.id, key.device_name]))
}

/**
 * Merges two lists, newest first, up to `limit`. All later server events are older than this
 * page's.
 */
function merged(keys: readonly KeyEvent[], theirs: Page, limit: number) {
  const shown: (KeyEvent | TrustEvent)[] = []
  let taken = 0
  const takeKeys = (until: string) => {
    for (; shown.length < limit; taken++) {
      const next = keys[taken]
      if (next === undefined || next.at < until) return
      shown.push(next)
    }
  }
  let left = theirs.items.length
  for (const event of theirs.items) {
    takeKeys(event.at)
    if (shown.length === limit) break
    shown.push(event)
    left--
  }
  if (left === 0 && theirs.next_cursor === null) takeKeys('')
  return { shown, taken, left }
}

/**
 * Returns a page of a followed account's history.
 * @throws AppError not_found if the account is not followed, bad_request for an invalid cursor
 */
export async function historyOf(
  device: LocalDevice,
  account: Account,
  { id, cursor, limit = 50 }: Input,
): Promise<Page> {
  const place = readPlace(cursor)
  const { theirs: at } = place
  // The account server checks that the account is followed before it gets other requests about it.
  if (typeof at !== 'string') await account.trustCards.history({ id, limit: 1 })
  if (cursor === undefined)
    await orStored(examine(device, account, id), () => device.state.trust.get(id))
  const log = rememberedLog(device.state, id)
  const keys = log === null ? [] : keyEvents(log).filter(({ seq }) => seq < place.seq)
  // Requests only as many server events as fit beside the key events, because a page of server
  // events must be used as a whole or not at all.
  const room = { id, limit: Math.max(1, limit - keys.length) }
  const theirs =
    at === null ? NOTHING : await account.trustCards.history(at ? { ...room, cursor: at } : room)
  const { shown, taken, left } = merged(keys, theirs, limit)
  const next: Place = {
    seq: taken === 0 ? place.seq : (keys[taken - 1] as KeyEvent).seq,
    theirs: left === 0 ? theirs.next_cursor : place.theirs,
  }
  const isOver = taken === keys.length && next.theirs === null
  const names = taken === 0 ? new Map<string, string>() : await deviceNames(account, id)
  return {
    items: shown.map((one) =>
      'seq' in one ? { at: one.at, event: one.event, detail: names.get(one.kid) ?? null } : one,
    ),
    next_cursor: isOver ? null : cursorOf(next),
  }
}
