/**
 * The page that leads a browser to the console. The code is in this private file, so that the
 * arguments of the browser, which other users can read, do not contain it.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ConsoleCode } from '../../api/console/index.ts'
import type { Config } from '../../config/config.ts'
import { StartError } from '../../errors.ts'
import { writeAtomic } from '../../keychain/private-file.ts'
import { consolePage } from '../../storage/runtime-file.ts'
import { isForSystem } from '../system-instance.ts'

/**
 * Returns the URL with which a browser opens the console. Servers do not get its fragment. Its path
 * is random, so that the browser cannot have an answer of another program for it.
 */
export const consoleUrl = ({ address, visit, code }: ConsoleCode): string =>
  `${address}/console/open/${visit}#k=${code}`

/** Returns the page. Its URL has only characters that need no escape in HTML or JavaScript. */
function pageOf(url: string): string {
  // The browser's history keeps no entry of the file.
  const script = `location.replace(${JSON.stringify(url)})`
  const sum = createHash('sha256').update(script).digest('base64')
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-${sum}'" />
    <meta name="referrer" content="no-referrer" />
    <title>Countersign</title>
    <script>${script}</script>
  </head>
  <body>
    <a href="${url}">Open the console</a>
  </body>
</html>
`
}

/**
 * Returns where to write the page.
 *
 * A user of the machine's service has no state folder, and must not get one, because later commands
 * would use it.
 * @param runtimeDir the value of XDG_RUNTIME_DIR
 * @throws StartError if there is no folder that only this user can read
 */
function placeOf(config: Config, runtimeDir: string | undefined): string {
  if (!isForSystem(config)) return consolePage(config.stateDir)
  if (runtimeDir !== undefined) return join(runtimeDir, 'countersign-console.html')
  throw new StartError(
    'failed',
    'The console cannot be opened in a browser from here, because XDG_RUNTIME_DIR is not set. Run "countersignd open --print", and open the URL in a browser on this machine.',
  )
}

/**
 * Writes the page, and returns its path. A link in its place is replaced.
 * @throws StartError, and the errors of `writeAtomic`
 */
export function writeConsolePage(
  code: ConsoleCode,
  config: Config,
  runtimeDir: string | undefined,
): string {
  const path = placeOf(config, runtimeDir)
  writeAtomic(path, pageOf(consoleUrl(code)), { durable: false })
  return path
}
