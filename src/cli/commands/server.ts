import { newLog } from '../../log.ts'
import { VERSION } from '../../runtime/version.ts'
import type { Command } from '../command.ts'
import { giveBackMemory } from '../memory-setting.ts'
import { askedToStop, stop } from '../shutdown.ts'

export const serverCommand: Command = {
  usage: '[--json]',
  help: `
Runs an account server without a daemon, in the foreground, until it receives SIGINT or SIGTERM. It listens on
SVC_ACCOUNT_BIND and SVC_ACCOUNT_PORT (default: 127.0.0.1:19822). Daemons sign in to it if their SVC_BACKEND_URL
is the address of this server. For daemons on other machines, put a proxy with TLS in front of the server, and set
SVC_PUBLIC_URL to the https address of the proxy.

The accounts are stored in the PostgreSQL database SVC_DATABASE_URL or, if it is not set, with SQLite in
SVC_STATE_DIR. Mail is sent through SVC_SMTP_URL, or written to files in SVC_MAIL_DIR. The log goes to standard
error as JSON lines.

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
            `Set this for each daemon: SVC_BACKEND_URL=${settings.publicUrl ?? address}\n`,
    )
    giveBackMemory()
    await stopped
    await stop(server, log)
  },
}
