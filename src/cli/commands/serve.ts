/** `serve` runs the daemon. `server` runs an account server for many daemons. */
import type { Config } from '../../config/config.ts'
import { dropInherited } from '../../config/sockets.ts'
import { type Log, newLog } from '../../log.ts'
import { VERSION } from '../../runtime/version.ts'
import { placesText } from '../../storage/runtime-file.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { holderOf } from '../lock-owner.ts'
import { logLinesOf } from '../log-lines.ts'
import { giveBackMemory } from '../memory.ts'
import { OVERDUE_MS, askedToStop, stop } from '../shutdown.ts'

/** What a person does next, and what a script does. */
const STEPS = `Next, in another terminal:
  countersignd guest create --label Mum    a page with words for a person who calls you
  countersignd call                        a person calls you: check their words
  countersignd help                        all commands
For scripts: countersignd token create --name ci --scope write
`

/** Returns how a person looks at the API, and at the account in a browser. */
function forPeople(
  { address, socket }: { readonly address: string | null; readonly socket: string | null },
  settings: Config,
): string {
  if (address === null)
    return `The API: curl --unix-socket ${socket} http://localhost/api/v1/openapi.json\nBrowsers cannot reach it, because SVC_HTTP_PORT is off.\n`
  return `The API: ${address}/api/v1/docs\n${settings.console ? OPEN : ''}`
}

const OPEN = 'To look at your account in a browser: countersignd open\n'

const NEXT = `Next: countersignd login --email YOU@EXAMPLE.ORG
`

/**
 * Starts a server, prints where it listens, and runs it until the process is asked to stop.
 * @param start returns the server and the text to print; `talk` is called when it listens, and
 *   returns a function that ends the talk
 */
async function runUntilStopped(
  { config, io, started }: Invocation,
  start: (
    settings: Config,
    log: Log,
  ) => Promise<{
    server: Parameters<typeof stop>[0]
    text: string
    talk?: () => Promise<() => void>
    drain?: () => Promise<void>
  }>,
): Promise<void> {
  const settings = config()
  // After the settings are read, which name the descriptors.
  dropInherited(io.env)
  const log = newLog(settings.logLevel, logLinesOf(io).write)
  const stopped = askedToStop(OVERDUE_MS + settings.drainMs, io.stderr.isTTY === true)
  const { server, text, talk, drain } = await start(settings, log)
  io.stdout.write(text)
  started()
  const endTalk = await talk?.()
  giveBackMemory()
  await stopped
  endTalk?.()
  await drain?.()
  await stop(server, log)
}

/**
 * Returns the value of `--name`.
 * @throws UsageError if the daemon has no embedded account
 */
function nameIn({ options: { name } }: Invocation, { backendUrl }: Config): string | undefined {
  if (name === undefined) return undefined
  if (backendUrl === null) return String(name)
  throw new UsageError(
    '--name is for an embedded account. With SVC_BACKEND_URL, use "countersignd login --name NAME".',
  )
}

export const serveCommand: Command = {
  usage: '[--name NAME] [--json]',
  help: `
Runs the daemon in the foreground until it receives SIGINT or SIGTERM. The API listens on SVC_HTTP_BIND and
SVC_HTTP_PORT (default: 127.0.0.1:19821). With SVC_HTTP_SOCKET, it also listens on that Unix socket, and with
SVC_HTTP_PORT=off only there.

Without SVC_BACKEND_URL, the daemon has an embedded account, which the first start creates once it listens. The
account server in the daemon (guest pages, stamps, devices) listens on SVC_ACCOUNT_BIND and SVC_ACCOUNT_PORT
(default: 127.0.0.1:19822). With SVC_BACKEND_URL, the daemon uses the account server at that address. To sign in
there, use "countersignd login" or "countersignd login --machine". With a systemd credential
countersign-machine-key, the daemon signs in by itself. After a sign-in, the state folder belongs to that account
server, and the variable is not needed again.

The state is stored in SVC_STATE_DIR. The log goes to standard error: as text on a terminal, otherwise as JSON
lines.

  --name NAME   your name, as other people see it, if the embedded account has none yet. At a terminal, the daemon
                asks for it at each start until you choose or decline one
  --json        print the addresses as one JSON line when the daemon listens`,
  examples: {
    serve: 'run the daemon until Ctrl-C',
    'serve --name Ada': 'choose the name that other people see',
  },
  options: { name: { type: 'string' } },
  args: [0, 0],
  run: (invocation) =>
    runUntilStopped(invocation, async (settings, log) => {
      const { serve } = await import('../../daemon/daemon.ts')
      const name = nameIn(invocation, settings)
      const holder = await holderOf(settings.stateDir, null)
      // If another process owns the lock, `serve` fails with an error that names that process.
      if ('daemon' in holder) holder.daemon.close()
      const server = await serve(settings, log, 'lock' in holder ? holder.lock : undefined)
      const { address, socket, accountAddress, isSignedIn } = server
      const text = invocation.json
        ? `${JSON.stringify({ address, socket, account_address: accountAddress })}\n`
        : `Countersign ${VERSION} listens on ${placesText(server)}\n${forPeople(server, settings)}\n${isSignedIn ? STEPS : NEXT}`
      const { nameQuestion } = server
      const asks = nameQuestion?.isOpen() === true && !invocation.json
      if (name === undefined && !(asks && invocation.io.stdin.isTTY === true))
        return { server, text }
      const talk = async () =>
        (await import('./session/name-at-start.ts')).nameAtStart(invocation, name, () =>
          nameQuestion?.decline(),
        )
      return { server, text, talk }
    }),
}

export const serverCommand: Command = {
  usage: '[--json]',
  help: `
Runs an account server without a daemon, in the foreground, until it receives SIGINT or SIGTERM. It listens on
SVC_ACCOUNT_BIND and SVC_ACCOUNT_PORT (default: 127.0.0.1:19822). Daemons sign in to it if their SVC_BACKEND_URL
is the address of this server. For daemons on other machines, put a proxy with TLS in front of the server, and set
SVC_PUBLIC_URL to the https address of the proxy.

The accounts are stored in the PostgreSQL database SVC_DATABASE_URL or, if it is not set, with SQLite in
SVC_STATE_DIR. Mail is sent through SVC_SMTP_URL, or written to files in SVC_MAIL_DIR. The log goes to standard
error: as text on a terminal, otherwise as JSON lines.

  --json   print the address as one JSON line when the server listens`,
  args: [0, 0],
  run: (invocation) =>
    runUntilStopped(invocation, async (settings, log) => {
      const { serveAccount } = await import('../../daemon/account-server.ts')
      const server = await serveAccount(settings, log)
      const { address } = server
      const text = invocation.json
        ? `${JSON.stringify({ account_address: address })}\n`
        : `The account server of Countersign ${VERSION} listens on ${address}\n` +
          `Set this for each daemon: SVC_BACKEND_URL=${settings.publicUrl ?? address}\n`
      const drain = async () => {
        if (settings.drainMs === 0) return
        log('info', 'draining', { ms: settings.drainMs })
        await server.drain()
      }
      return { server, text, drain }
    }),
}
