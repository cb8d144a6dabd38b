/**
 * Measures the executable against a hello in the same kind of executable, and its size. The
 * figures are ratios within one alternating run. Run it after `npm run build:exe`.
 */
import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
// Scripts of the build have no types.
// oxlint-disable-next-line typescript/ban-ts-comment
// @ts-ignore
import { HERE, TARGETS, makeExecutable } from '../build/release/executable.mjs'
import { say } from './figures.ts'
import { type Program, program } from './programs.ts'
import { compareStarts, startMs } from './starts.ts'

const BUILT = join(import.meta.dirname, `../dist/release/countersignd-${HERE}`)
const PORTS = { ours: 19_833, hello: 19_834 }
const STARTS = 31

const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const hello = join(folder, 'hello')
const ours = join(folder, 'ours')

const spawnHello = (): Program =>
  program(
    spawn(hello, [String(PORTS.hello)], { env: {}, stdio: ['ignore', 'pipe', 'ignore'] }),
    PORTS.hello,
  )

const spawnOurs = (): Program =>
  program(
    spawn(ours, ['serve', '--json'], {
      env: {
        SVC_STATE_DIR: join(folder, 'state'),
        SVC_KEYCHAIN: 'file',
        SVC_HTTP_PORT: String(PORTS.ours),
        SVC_ACCOUNT_PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
    PORTS.ours,
  )

try {
  await makeExecutable({
    target: HERE,
    of: TARGETS[HERE],
    main: 'bench/bare.cjs',
    assets: {},
    output: `${hello}.built`,
  })
  // Both are copied: how much of a file counts as resident depends on how it was written.
  copyFileSync(`${hello}.built`, hello)
  copyFileSync(BUILT, ours)
  // As in daily use: enrolled.
  await startMs(spawnOurs)
  await compareStarts({ ours: spawnOurs, peer: spawnHello }, 'hello', STARTS)

  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  const bytes = readFileSync(BUILT)
  const level = { [constants.ZSTD_c_compressionLevel]: 19 }
  say(
    `Size: ${mb(statSync(BUILT).size)}; gzip -9 ${mb(gzipSync(bytes, { level: 9 }).length)}, ` +
      `zstd -19 ${mb(zstdCompressSync(bytes, { params: level }).length)}`,
  )
} finally {
  rmSync(folder, { recursive: true })
}
