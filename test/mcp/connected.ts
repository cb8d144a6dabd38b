/** Connects the official client of the Model Context Protocol. */
import type { TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { PROGRAM, environment } from '../e2e/program.ts'

/** A protocol version: an older one begins with a handshake, the newest one does not. */
export type Version = '2025-06-18' | '2025-11-25' | '2026-07-28'
export const VERSIONS: readonly Version[] = ['2025-06-18', '2025-11-25', '2026-07-28']
/** The paths of the protocol. */
export const PATHS = ['/mcp', '/api/v1/mcp'] as const

/** Connects a client of one version over any transport; it is closed when the test ends. */
export async function connected(
  t: TestContext,
  transport: Transport,
  version: Version = '2026-07-28',
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '0' },
    version === '2026-07-28'
      ? { versionNegotiation: { mode: { pin: version } } }
      : { supportedProtocolVersions: [version] },
  )
  t.after(() => client.close())
  await client.connect(transport)
  return client
}

/**
 * Creates a transport to `countersignd mcp` over a state folder.
 * @param tools the sets of tools; null for the default of the command
 */
export const overStdio = (
  stateDir: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  tools: string | null = 'all',
): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', ...(tools === null ? [] : ['--tools', tools]), ...args],
    env: environment(stateDir, env) as Record<string, string>,
    stderr: 'ignore',
  })

/** Creates a transport over HTTP, with a token or none. */
export const overHttp = (address: string, path: string, token?: string): Transport =>
  new StreamableHTTPClientTransport(
    new URL(path, address),
    token === undefined ? {} : { requestInit: { headers: { Authorization: `Bearer ${token}` } } },
  )
