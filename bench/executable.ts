/**
 * What the executable costs beside a hello in the same kind of executable, as ratios within one alternating run, and how large it
 * is. Run it after `npm run build:exe`.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
// Scripts of the build have no types.
// oxlint-disable-next-line typescript/ban-ts-comment
// @ts-ignore
import { HERE, TARGETS, makeExecutable } from '../build/executable.mjs'
import { median, say } from './figures.ts'
import { type Program, program } from './programs.ts'
import { type Started, started } from './starts.ts'

const OURS = join(import.meta.dirname, `../dist/countersignd-${HERE}`)
const PORTS = { ours: 19_833, hello: 19_834 }
const STARTS = 31

const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const hello = join(folder, 'hello')

const spawnHello = (): Program =>
  program(
    spawn(hello, [String(PORTS.hello)], { env: {}, stdio: ['ignore', 'pipe', 'ignore'] }),
    PORTS.hello,
  )

const spawnOurs = (): Program =>
  program(
    spawn(OURS, ['serve', '--json'], {
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
    output: hello,
  })
  // As in daily use: enrolled.
  await started(spawnOurs)
  const ours: Started[] = []
  const theirs: Started[] = []
  for (let round = 0; round < STARTS; round++) {
    theirs.push(await started(spawnHello))
    ours.push(await started(spawnOurs))
  }
  const told = (what: string, unit: string, of: (one: Started) => number) => {
    const [a, b] = [median(ours.map(of)), median(theirs.map(of))]
    say(`${what}: ${(a / b).toFixed(2)}  (${a.toFixed(1)} ${unit} ÷ ${b.toFixed(1)} ${unit})`)
  }
  told('Spawn → first answer, ours ÷ hello', 'ms', ({ ms }) => ms)
  told('Idle RSS, ours ÷ hello', 'MiB', ({ rss }) => rss)

  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  const bytes = readFileSync(OURS)
  const level = { [constants.ZSTD_c_compressionLevel]: 19 }
  say(
    `Size: ${mb(statSync(OURS).size)}; gzip -9 ${mb(gzipSync(bytes, { level: 9 }).length)}, ` +
      `zstd -19 ${mb(zstdCompressSync(bytes, { params: level }).length)}`,
  )
} finally {
  rmSync(folder, { recursive: true })
}
