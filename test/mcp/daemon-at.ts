/** A daemon over a state folder that outlives it. */
import type { TestContext } from 'node:test'
import { startDaemon } from '../daemon.ts'

/** Starts a daemon; it stops on request or when the test ends. */
export async function daemonAt(t: TestContext, stateDir: string) {
  const daemon = await startDaemon({ SVC_STATE_DIR: stateDir })
  let running = true
  const stop = async () => {
    if (running) await daemon.close()
    running = false
  }
  t.after(stop)
  return { ...daemon, stop }
}
