/** The gauges of a daemon, which are read when the metrics are. */
import { METRICS } from '../metrics/catalogue.ts'
import type { Serving } from '../handlers/context.ts'
import type { DeviceSession } from '../device/session/session.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { State } from '../state/state.ts'

/** Adds the gauges of a daemon. Returns a function that removes them. */
export function observe(of: {
  readonly state: State
  readonly keychain: Pick<Keychain, 'backend'>
  readonly deviceSession: Pick<DeviceSession, 'device'>
  readonly serving: () => Serving | null
}): () => void {
  const { state, keychain, deviceSession, serving } = of
  const ends = [
    METRICS.keychain.from(() => [[{ backend: keychain.backend }, 1]]),
    METRICS.lastSync.from(() => {
      const at = deviceSession.device()?.sync.lastGoodAt() ?? null
      return at === null ? [] : [[{}, Date.parse(at) / 1000]]
    }),
    METRICS.hintStream.from(() => {
      const stream = serving()?.stream ?? null
      return stream === null ? [] : [[{}, stream.state === 'open' ? 1 : 0]]
    }),
    METRICS.waiting.from(() => [
      [{ kind: 'verifications' }, state.verifications.countUnpushed()],
      [{ kind: 'stamps' }, state.stamps.countWithoutReceipt()],
      [{ kind: 'rotations' }, state.connections.pending().length],
    ]),
  ]
  return () => ends.forEach((end) => end())
}
