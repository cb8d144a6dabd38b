/** The built pages, and a browser to open them: Chromium with its own clock. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import { ROOT, exec } from './program.ts'

/** Both have the same engine. The first has no windows, and takes half as much processor time. */
const CHROMIUMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const executablePath =
  process.env['CHROMIUM'] ?? CHROMIUMS.find((path) => existsSync(path)) ?? CHROMIUMS[1]!
/** Why there is no browser, or false. */
export const noBrowser = existsSync(executablePath) ? false : `no Chromium at ${executablePath}`

/** Builds dist/ unless it exists. */
export async function built(): Promise<void> {
  if (
    existsSync(join(ROOT, 'dist/pages/guest.js')) &&
    existsSync(join(ROOT, 'dist/pages/reference.js.gz')) &&
    existsSync(join(ROOT, 'dist/countersignd.cjs'))
  )
    return
  const { code, stderr } = await exec('/bin/sh', ['-c', `cd '${ROOT}' && node build.mjs`], {
    env: { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH']}` },
  })
  if (code !== 0) throw new Error(`node build.mjs: ${stderr}`)
}

/** Starts Chromium without network requests of its own. `more`: further arguments. */
export const startBrowser = (...more: string[]): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  })
