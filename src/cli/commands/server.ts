import { newLog } from '../../log.ts'
import { VERSION } from '../../runtime/version.ts'
import type { Command } from '../command.ts'
import { giveBackMemory } from '../memory-setting.ts'
import { askedToStop, stop } from '../shutdown.ts'

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
