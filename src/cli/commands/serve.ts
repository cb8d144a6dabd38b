/** `serve` runs the daemon. `server` runs an account server for many daemons. */
import { newLog } from '../../log.ts'
import { VERSION } from '../../runtime/version.ts'
import type { Command } from '../command.ts'
import { holderOf } from '../lock-owner.ts'
import { giveBackMemory } from '../memory-setting.ts'
import { askedToStop, stop } from '../shutdown.ts'

const example = (address: string) => `Try it (these three lines work as they are):

  TOKEN=$(curl -s ${address}/api/v1/token -H 'Content-Type: application/json' -d '{"name":"try","scope":"full"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  curl -s ${address}/api/v1/guest-codes -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"label":"A friend"}'
  curl -s ${address}/api/v1/verify -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"words":"matador carload recede"}'

The second answers a link: open it, and put the three words of its page into the third.
`

export const serveCommand: Command = {
  usage: '',
  help: `
Runs the daemon in the foreground until it gets SIGINT or SIGTERM. The API listens on SVC_HTTP_BIND and SVC_HTTP_PORT
(127.0.0.1:19821). With its own embedded account, the account server's listener (guest pages, stamps, devices) is on
SVC_ACCOUNT_BIND and SVC_ACCOUNT_PORT (127.0.0.1:19822); with SVC_BACKEND_URL it works with that account server, to which "countersignd login" or
"countersignd login --machine" signs in; a systemd credential countersign-machine-key signs in by itself.

State lies in SVC_STATE_DIR. The log goes to standard error as JSON lines.

  --json   print the addresses as one JSON line when the daemon listens`,
  args: [0, 0],
  async run({ config, io, json }) {
    const settings = config()
    const log = newLog(settings.logLevel, (line) => void io.stderr.write(line))
    const stopped = askedToStop()
    const { serve } = await import('../../daemon/daemon.ts')
    const holder = await holderOf(settings.stateDir, null)
    // If another process owns the lock, `serve` fails with an error that names that process.
    if ('daemon' in holder) holder.daemon.close()
    const daemon = await serve(settings, log, 'lock' in holder ? holder.lock : undefined)
    const { address, accountAddress } = daemon
    io.stdout.write(
      json
        ? `${JSON.stringify({ address, account_address: accountAddress })}\n`
        : `Countersign ${VERSION} listens on ${address}\nDocs: ${address}/api/v1/docs\n\n${example(address)}`,
    )
    giveBackMemory()
    await stopped
    await stop(daemon, log)
  },
}

export const serverCommand: Command = {
  usage: '[--json]',
  help: `
Runs the account server alone, in the foreground, until it gets SIGINT or SIGTERM. Daemons on other machines sign in to it:
set their SVC_BACKEND_URL to its address. It listens on SVC_ACCOUNT_BIND and SVC_ACCOUNT_PORT (127.0.0.1:19822); for other
machines it needs a proxy with TLS before it, and SVC_PUBLIC_URL, the https address of that.

Accounts lie in SVC_DATABASE_URL (PostgreSQL), or without it in SVC_STATE_DIR (SQLite). Mail goes through SVC_SMTP_URL, or
into files in SVC_MAIL_DIR. The log goes to standard error as JSON lines.

  --json   print the address as one JSON line when the server listens`,
  args: [0, 0],
  async run({ config, io, json }) {
    const settings = config()
    const log = newLog(settings.logLevel, (line) => void io.stderr.write(line))
    const stopped = askedToStop()
    const { serveAccount } = await import('../../daemon/account-server.ts')
    const server = await serveAccount(settings, log)
    const { address } = server
    io.stdout.write(
      json
        ? `${JSON.stringify({ account_address: address })}\n`
        : `The account server of Countersign ${VERSION} listens on ${address}\n` +
            `For each daemon: SVC_BACKEND_URL=${settings.publicUrl ?? address}\n`,
    )
    giveBackMemory()
    await stopped
    await stop(server, log)
  },
}
