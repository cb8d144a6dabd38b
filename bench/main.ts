/**
 * Measures the daemon against its peers, as ratios within one alternating run. Wall-clock
 * figures of one machine mean little on another, and are useless while other programs run on it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnBare, spawnDaemon } from './programs.ts'
import { compareRequests } from './requests.ts'
import { compareStarts, startMs } from './starts.ts'

const DAEMON = 19_831
const BARE = 19_832
const STARTS = 15

const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  // As in daily use: enrolled, and with the code cache that an earlier run left.
  const ours = () => spawnDaemon(DAEMON, stateDir)
  await startMs(ours)
  await compareRequests(stateDir)
  await compareStarts({ ours, peer: () => spawnBare(BARE) }, 'bare hello', STARTS)
} finally {
  rmSync(stateDir, { recursive: true })
}

// In separate processes: the earlier measurements would affect memory and time.
const OTHERS = [
  ['metrics.ts'],
  ['readers.ts'],
  ['codes.ts', '--expose-gc'],
  ['verify.ts'],
  ['sealing.ts'],
  ['first-sync.ts'],
]
for (const [file, ...options] of OTHERS) {
  const { status } = spawnSync(
    process.execPath,
    ['--no-warnings', ...options, join(import.meta.dirname, file!)],
    {
      stdio: 'inherit',
    },
  )
  if (status !== 0) process.exitCode = status ?? 1
}
