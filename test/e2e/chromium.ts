/** A browser to open the pages: Chromium. */
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

/** Both have the same engine. The first has no windows, and takes half as much processor time. */
const CHROMIUMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const executablePath =
  process.env['CHROMIUM'] ?? CHROMIUMS.find((path) => existsSync(path)) ?? CHROMIUMS[1]!
/** Why there is no browser, or false. */
export const noBrowser = existsSync(executablePath) ? false : `no Chromium at ${executablePath}`

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
