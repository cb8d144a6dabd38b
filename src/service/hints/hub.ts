/** The open streams of hints of this process. */
import type { SyncPart } from '../../api/device/changes.ts'
import { type HintStream, newHintStream } from './stream.ts'

/**
 * The longest life of a stream, in milliseconds: that of an access token. The device opens another
 * one, for which it proves its key again.
 */
const LIFE_MS = 3_600_000

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

/** Creates the hub. Its timers do not keep the process running. */
export function newHub(): Hub {
  const byAccount = new Map<string, Set<HintStream>>()
  let isClosed = false

  function remove(stream: HintStream): void {
    const ofAccount = byAccount.get(stream.account)
    ofAccount?.delete(stream)
    if (ofAccount?.size === 0) byAccount.delete(stream.account)
  }

  /**
   * Returns the streams of a session, oldest first. Two may be open while a device replaces one.
   */
  const ofSession = ({ account, session }: { account: string; session: string }) =>
    [...(byAccount.get(account) ?? [])].filter((stream) => stream.session === session)

  return {
    open(of) {
      const stream = newHintStream(of, () => {
        clearTimeout(life)
        remove(stream)
      })
      const life = setTimeout(stream.end, LIFE_MS).unref()
      const [first, second] = ofSession(of)
      if (second !== undefined) first?.end()
      const ofAccount = byAccount.get(of.account) ?? new Set()
      byAccount.set(of.account, ofAccount.add(stream))
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
      for (const streams of byAccount.values()) for (const stream of streams) stream.end()
    },
  }
}
