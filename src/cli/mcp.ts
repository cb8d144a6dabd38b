import { rest } from '../api/rest/index.ts'
import type { Scope } from '../auth/scopes.ts'
import { redact } from '../log.ts'
import { StdioServerTransport, serveStdio } from '../tools/sdk.ts'
import { newServers } from '../tools/server.ts'
import { chosenToken } from './api.ts'
import { askingDaemon } from './asking-daemon.ts'
import { type Command, UsageError } from './command.ts'

const SCOPES: readonly Scope[] = ['read', 'write', 'full']

function scopeOf(given: unknown): Scope {
  const scope = SCOPES.find((one) => one === given)
  if (scope === undefined)
    throw new UsageError(`--scope is "${String(given)}"; it takes read, write or full.`)
  return scope
}

/** Resolves when the client has left, or at the first SIGINT or SIGTERM. */
function served(factory: Parameters<typeof serveStdio>[0]): Promise<void> {
  const transport = new StdioServerTransport()
  const handle = serveStdio(factory, { transport })
  return new Promise((resolve) => {
    const { onclose } = transport
    transport.onclose = () => {
      onclose?.()
      resolve()
    }
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => void handle.close().then(resolve))
  })
}

export const mcpCommand: Command = {
  usage: '[--scope read|write|full]',
  help: `
Speaks the Model Context Protocol on standard input and output, for programs that start their tools themselves, and asks the daemon
that runs ("countersignd serve"). It ends when standard input does. While no daemon runs, every call answers so; the first one after
it was started works again.

  --scope S   what may be called at most, as the scope of a token: read; write, the default; or full, with which organisations
              and API tokens may be managed, too`,
  options: { scope: { type: 'string', default: 'write' } },
  args: [0, 0],
  async run({ config, io, options }) {
    const scope = scopeOf(options['scope'])
    const settings = config()
    const { ask, close } = askingDaemon(settings.stateDir, scope, () => chosenToken(settings))
    const serverFor = newServers(rest)
    await served(() =>
      serverFor(ask, (tool, error) => {
        const why = error.code === 'internal' ? String(error.cause) : error.message
        io.stderr.write(`countersignd: ${tool}: ${redact(why)}\n`)
      }),
    )
    close()
  },
}
