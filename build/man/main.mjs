/** Writes the manual into `dist/man/`. To read a page: man -l dist/man/countersignd-guest.1 */
import { execFileSync } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { writeManPages } from './pages.mjs'

const folder = 'dist/man'
const { version } = JSON.parse(await readFile('package.json', 'utf8'))
const time = Number(execFileSync('git', ['log', '-1', '--format=%ct'], { encoding: 'utf8' }))
await rm(folder, { recursive: true, force: true })
await writeManPages({ version, time, folder })
