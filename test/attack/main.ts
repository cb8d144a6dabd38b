/**
 * `npm run attack`: the whole table against a daemon in a process of its own, over TCP and then
 * over its Unix socket alone, and then the attacks outside the table in full: a browser, another
 * user of the machine, secrets in every place. Exit code 1 if anything is not rejected as
 * specified.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { RequestChannel } from '../../src/http/dispatch.ts'
import { runTests } from '../node-test.ts'
import { ATTACKS, DRILLS } from './attacks.ts'
import { startChild } from './child.ts'
import { slow } from './slow.ts'
import { type Fault, type Result, planAll, run } from './run.ts'
import { newScene } from './scene.ts'

const CHANNELS = ['tcp', 'socket'] as const satisfies readonly RequestChannel[]
const SHOWN = 40
/** How long one test may take in full, in milliseconds. */
const LIMIT_MS = 30 * 60_000

const answersIn = ({ answers }: Result) =>
  [...answers]
    .toSorted(([, a], [, b]) => b - a)
    .map(([what, count]) => `${what} × ${count}`)
    .join(', ')

const show = (result: Result) => {
  const { row, sent, targets, example, faults } = result
  console.log(`\n${row}\n  sent     ${sent} to ${targets.size} routes, such as ${example}`)
  console.log(`  answered ${answersIn(result)}`)
  console.log(`  ${faults.length === 0 ? 'refused as specified' : `${faults.length} EXCEPTIONS`}`)
}

const showFault = ({ row, attack, target, sent, got, why }: Fault) =>
  console.log(`\n${row} · ${attack} · ${target}\n  why  ${why}\n  sent ${sent}\n  got  ${got}`)

const drills = [slow, ...DRILLS]

/** Attacks a daemon over one channel. Returns the number of wrong answers. */
async function attackOver(channel: RequestChannel): Promise<number> {
  const began = Date.now()
  const daemon = await startChild(channel)
  try {
    console.log(
      `\nThe API over ${channel === 'tcp' ? 'TCP' : 'its Unix socket'}: ${daemon.address}`,
    )
    const scene = await newScene(daemon, daemon.pid)
    const report = await run(scene, planAll(ATTACKS, scene.targets), drills, show)
    const results = [...report.values()]
    const faults = results.flatMap((result) => result.faults)
    for (const fault of faults.slice(0, SHOWN)) showFault(fault)
    if (faults.length > SHOWN) console.log(`\n… and ${faults.length - SHOWN} more`)
    const sent = results.reduce((sum, result) => sum + result.sent, 0)
    const took = Math.round((Date.now() - began) / 1000)
    console.log(
      `\n${results.length} rows, ${ATTACKS.length + drills.length} attacks, ${scene.targets.length} routes, ${sent} requests in ${took} s: ${faults.length} exceptions`,
    )
    return faults.length
  } finally {
    await daemon.end()
  }
}

/** With `npm run attack tcp` or `npm run attack socket`, only the table, over this channel. */
const chosen = CHANNELS.find((channel) => channel === process.argv[2])
for (const channel of chosen === undefined ? CHANNELS : [chosen])
  if ((await attackOver(channel)) > 0) process.exitCode = 1
if (chosen !== undefined) process.exit()

/** The tests of the table, which has just been run in full. */
const OF_THE_TABLE = new Set(['attack.test.ts', 'planted.test.ts', 'threats.test.ts'])
const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts') && !OF_THE_TABLE.has(name))
  .map((name) => join(import.meta.dirname, name))

console.log()
if (runTests({ files, concurrency: 1, limitMs: LIMIT_MS, env: { SOAK: 'full' } }).length > 0)
  process.exitCode = 1
