/** The findings of `doctor` over the API: one process at a time, which ends with the daemon. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newDoctorRuns } from '../../src/daemon/doctor-runs.ts'
import { startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

/** Runs a program in place of `doctor`. It finds the state folder in `dir`. */
function runsOf(t: TestContext, program: string) {
  const stateDir = freshFolder(t)
  const [stop, late] = [new AbortController(), new AbortController()]
  const run = newDoctorRuns({
    stateDir,
    stopping: stop.signal,
    command: [
      process.execPath,
      '-e',
      `const fs = require('node:fs'); const dir = process.env.SVC_STATE_DIR; ${program}`,
    ],
    limit: () => late.signal,
  })
  return { run, stateDir, stop, late }
}

const REPORT = { ok: false, checks: [{ state: 'fail', name: 'x', found: 'y', remedy: 'z' }] }
/** Starts a process that lasts, writes its pid, and lasts too. */
const LASTS = `
  const { spawn } = require('node:child_process')
  const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  fs.writeFileSync(dir + '/pid', String(pid))
  setInterval(() => {}, 1000)`

/** Returns the id of the process that the program starts. */
const startedBy = (stateDir: string): Promise<number> =>
  until('it has started', () => {
    const file = join(stateDir, 'pid')
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  })

/** Waits until a process is gone. */
async function isGone(pid: number): Promise<void> {
  await until('the process is gone', () => {
    // A zombie has no command line.
    const path = `/proc/${pid}/cmdline`
    return !existsSync(path) || readFileSync(path).length === 0
  })
}

test('the findings of a failed check are returned, and one run serves all callers', async (t) => {
  const { run, stateDir } = runsOf(
    t,
    `fs.appendFileSync(dir + '/runs', 'x')
     console.log(${JSON.stringify(JSON.stringify(REPORT))}); process.exitCode = 1`,
  )
  assert.deepEqual(await Promise.all([run(), run(), run()]), [REPORT, REPORT, REPORT])
  assert.deepEqual(await run(), REPORT)
  assert.equal(readFileSync(join(stateDir, 'runs'), 'utf8'), 'xx')
})

test('a run that fails is itself a finding', async (t) => {
  for (const [program, found] of [
    ['process.exitCode = 3', 'the checks ended with exit code 3'],
    ['console.log("{}")', 'the checks ended with exit code 0'],
  ] as const) {
    const { ok, checks } = await runsOf(t, program).run()
    assert.equal(ok, false)
    assert.partialDeepStrictEqual(checks, [{ state: 'fail', found }])
  }
  const run = newDoctorRuns({
    stateDir: freshFolder(t),
    stopping: new AbortController().signal,
    command: ['/nowhere/countersignd'],
  })
  assert.match((await run()).checks[0]?.found ?? '', /could not be started: .*ENOENT/)
})

test('a run that takes too long is ended, with the processes that it started', async (t) => {
  const { run, stateDir, late } = runsOf(t, LASTS)
  const asked = run()
  const pid = await startedBy(stateDir)
  late.abort()
  assert.match((await asked).checks[0]?.found ?? '', /took longer than 60 seconds/)
  await isGone(pid)
})

test('a run ends when the daemon stops, and none begins then', async (t) => {
  const { run, stateDir, stop } = runsOf(t, LASTS)
  const asked = rejects('shutting_down', run())
  const pid = await startedBy(stateDir)
  stop.abort()
  await asked
  await isGone(pid)
  await rejects('shutting_down', run())
})

test('GET /api/v1/doctor examines the folder of the daemon that answers', async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const { json } = await daemon.request('GET', '/api/v1/doctor', {
    token: await daemon.token('full'),
  })
  const { checks } = json as { checks: { name: string; state: string; found: string }[] }
  assert(checks.some(({ found }) => found.includes(`folder ${daemon.stateDir}`)))
  const { state, found } = checks.find(({ name }) => name === 'daemon') ?? assert.fail()
  assert.equal(state, 'ok', found)
})
