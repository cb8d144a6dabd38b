/**
 * Connects the client of the first SDK of the Model Context Protocol, which most programs still
 * use. It shares no code with the official client of today.
 */
import type { TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

type Transport = StdioClientTransport | StreamableHTTPClientTransport

async function connected(t: TestContext, transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '0' })
  t.after(() => client.close())
  await client.connect(transport as Parameters<Client['connect']>[0])
  return client
}

/** Connects over HTTP with a token; the client is closed when the test ends. */
export const firstSdkOverHttp = (t: TestContext, url: URL, token: string): Promise<Client> => {
  const headers = { Authorization: `Bearer ${token}` }
  return connected(t, new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
}

/** Starts a server program and connects to it; both end with the test. */
export const firstSdkOverStdio = (
  t: TestContext,
  args: string[],
  env: Record<string, string>,
): Promise<Client> =>
  connected(t, new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }))
