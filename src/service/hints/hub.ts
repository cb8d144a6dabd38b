/** The open streams of hints of this process. */
import type { SyncPart } from '../../api/device/changes.ts'
import { HINT_BEAT_MS } from '../../api/device/hints.ts'
import { type HintStream, newHintStream } from './stream.ts'

/**
 * The longest life of a stream, in milliseconds: that of an access token. The device opens another
 * one, for which it proves its key again.
 */
const LIFE_MS = 3_600_000
/** The number of groups of streams. Each group gets its heartbeats at another time. */
const GROUPS = 20

export interface Hub {
  /** Opens a stream. A session has two at most, and a third one ends the first. */
  open(of: { account: string; session: string }): HintStream
  /** Passes a hint to the streams of an account. */
  changed(account: string, parts: readonly SyncPart[]): void
  /** The accounts that have streams here. */
  accounts(): Iterable<string>
  /** The streams of an account. */
  of(account: string): readonly HintStream[]
  /** Ends all streams, and every later one at once. */
  close(): void
}

/** Creates the hub. Its timer does not keep the process running. */
export function newHub(): Hub {
  const byAccount = new Map<string, Set<HintStream>>()
  /** The streams by the group of their heartbeat, with the number of heartbeats that are left. */
  const groups = Array.from({ length: GROUPS }, () => new Map<HintStream, number>())
  let turn = 0
  let isClosed = false

  const timer = setInterval(() => {
    turn = (turn + 1) % GROUPS
    for (const [stream, left] of groups[turn]!) {
      groups[turn]!.set(stream, left - 1)
      if (left > 0) stream.beat()
      else stream.end()
    }
  }, HINT_BEAT_MS / GROUPS).unref()

  function remove(stream: HintStream): void {
    const ofAccount = byAccount.get(stream.account)
    ofAccount?.delete(stream)
    if (ofAccount?.size === 0) byAccount.delete(stream.account)
    for (const group of groups) group.delete(stream)
  }

  /**
   * Returns the streams of a session, oldest first. Two may be open while a device replaces one.
   */
  const ofSession = ({ account, session }: { account: string; session: string }) =>
    [...(byAccount.get(account) ?? [])].filter((stream) => stream.session === session)

  return {
    open(of) {
      const stream = newHintStream(of, remove)
      const [first, second] = ofSession(of)
      if (second !== undefined) first?.end()
      const ofAccount = byAccount.get(of.account) ?? new Set()
      byAccount.set(of.account, ofAccount.add(stream))
      groups[turn]!.set(stream, LIFE_MS / HINT_BEAT_MS)
      if (isClosed) stream.end()
      return stream
    },
    changed(account, parts) {
      for (const stream of byAccount.get(account) ?? []) stream.changed(parts)
    },
    accounts: () => byAccount.keys(),
    of: (account) => [...(byAccount.get(account) ?? [])],
    close() {
      isClosed = true
      clearInterval(timer)
      for (const streams of byAccount.values()) for (const stream of streams) stream.end()
    },
  }
}
