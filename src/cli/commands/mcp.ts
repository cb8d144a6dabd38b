import { PassThrough } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { rest } from '../../api/rest/index.ts'
import { restNeed, type Scope } from '../../auth/scopes.ts'
import { redact } from '../../crypto/encoding/redact.ts'
import type { Ask } from '../../api/tools/call.ts'
import { ProtocolErrorCode, StdioServerTransport, serveStdio } from '../../api/tools/sdk.ts'
import { type ReportCall, newServers } from '../../api/tools/server.ts'
import { COMMON_SET, TOOL_SETS, faultOfSets } from '../../api/tools/sets.ts'
import { chosenToken } from '../api.ts'
import { askingDaemon } from '../daemon-account.ts'
import { type Command, UsageError } from '../command.ts'
import { newMcpSubscriptions } from '../mcp-subscriptions.ts'

const SCOPES: readonly Scope[] = ['read', 'write', 'full']

function scopeOf(given: unknown): Scope {
  const scope = SCOPES.find((one) => one === given)
  if (scope === undefined)
    throw new UsageError(`--scope: "${String(given)}" is not read, write or full.`)
  return scope
}

function setsFrom(given: string): string {
  const fault = faultOfSets(given)
  if (fault !== null) throw new UsageError(`--tools: ${fault}`)
  return given
}

/**
 * How long the command waits for pending calls after the client has disconnected, in milliseconds.
 */
const PATIENCE_MS = 5000

/**
 * Counts pending calls, so that their answers are sent even after the client has closed its input.
 */
function newCount(ask: Ask) {
  let running = 0
  let idle: () => void = () => undefined
  return {
    ask: async (call: Parameters<Ask>[0]) => {
      running++
      try {
        return await ask(call)
      } finally {
        running--
        if (running === 0) idle()
      }
    },
    /** Resolves when no call is pending. */
    settled: async (): Promise<void> => {
      // The message that was read last is handled in later turns of the event loop.
      await setImmediate()
      while (running > 0) await new Promise<void>((resolve) => (idle = resolve))
      await setImmediate()
    },
  }
}

/**
 * Resolves when the client has disconnected and its pending calls are answered.
 *
 * Also resolves at the first SIGINT or SIGTERM.
 */
function served(
  factory: Parameters<typeof serveStdio>[0],
  settled: () => Promise<void>,
  observe: (transport: StdioServerTransport) => void,
  onerror: () => void,
): Promise<void> {
  // The transport aborts pending calls when its input ends, so its input is a separate stream.
  const input = new PassThrough()
  process.stdin.pipe(input, { end: false })
  process.stdin.once('end', () => {
    const patience = setTimeout(PATIENCE_MS, undefined, { ref: false })
    void Promise.race([settled(), patience]).then(() => input.end())
  })
  const transport = new StdioServerTransport(input)
  const handle = serveStdio(factory, { transport, onerror })
  observe(transport)
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

const toChoose = (sets: string) => `start "countersignd mcp" with --tools ${sets}`

export const mcpCommand: Command = {
  usage: '[--scope read|write|full] [--tools SET[,SET…]]',
  help: `
Serves the Model Context Protocol on standard input and output, for programs that start their MCP servers
themselves. It forwards calls to the running daemon ("countersignd serve"), and ends when its standard input
ends. While no daemon is running, every call fails. Calls work again as soon as a daemon is running.

  --scope SCOPE   which calls are allowed: read, write or full, with the same meaning as for an API token. Only the
                  scope full includes the calls that manage organisations and API tokens (default: write)
  --tools SETS    which tools are listed, because a model reads the whole list: one set or several, separated by commas
                  (default: common). "common" has the tools for calls, guests, stamps and contacts, "all" has all
                  tools, and each other set those of one subject:
                  ${TOOL_SETS.slice(2, 12).join(', ')},
                  ${TOOL_SETS.slice(12).join(', ')}`,
  examples: {
    'mcp --scope read': 'let a model read, and change nothing',
    'mcp --scope full --tools common,org': 'let a model manage an organisation too',
  },
  options: {
    scope: { type: 'string', default: 'write' },
    tools: { type: 'string', default: COMMON_SET, words: TOOL_SETS },
  },
  args: [0, 0],
  async run({ config, io, options }) {
    const scope = scopeOf(options['scope'])
    const sets = setsFrom(String(options['tools']))
    const settings = config()
    const { ask, close } = askingDaemon(settings, scope, () => chosenToken(settings))
    const serverFor = newServers(rest, restNeed)
    const count = newCount(ask)
    const report: ReportCall = (tool, error) => {
      const why = error.code === 'internal' ? String(error.cause) : error.message
      io.stderr.write(`countersignd: ${tool}: ${redact(why)}\n`)
    }
    const subscriptions = newMcpSubscriptions(ask)
    const factory: Parameters<typeof serveStdio>[0] = ({ era }) =>
      subscriptions.serve(serverFor(count.ask, report, { canSubscribe: true, sets, toChoose }), era)
    // The input can contain anything, even secrets. Therefore neither the line nor the error, which
    // quotes the line, is reported.
    await served(factory, count.settled, subscriptions.observe, () => {
      const message = 'A line of the input is not a message of the Model Context Protocol.'
      io.stderr.write(`countersignd: ${message}\n`)
      const error = { code: ProtocolErrorCode.InvalidRequest, message }
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`)
    })
    subscriptions.end()
    close()
    // After a signal, the client may still have its end open. Destroying the input lets the program
    // end.
    process.stdin.destroy()
  },
}
