/**
 * The fixtures of the conformance suite: tools, resources and prompts of fixed names and texts.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { ProtocolError, ProtocolErrorCode, Server } from '../../src/api/tools/sdk.ts'

/** One red pixel, and an empty sound of a tenth of a second. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

const text = (content: string) => ({ type: 'text', text: content }) as const
const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const
const audio = { type: 'audio', data: WAV, mimeType: 'audio/wav' } as const
const resource = (uri: string, mimeType: string, content: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: content } }) as const

interface Working {
  readonly notify: (notification: {
    method: string
    params: Record<string, unknown>
  }) => Promise<void>
  readonly token: unknown
}

const TOOLS: Readonly<Record<string, (working: Working) => object | Promise<object>>> = {
  test_simple_text: () => ({ content: [text('This is a simple text response for testing.')] }),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [audio] }),
  test_embedded_resource: () => ({
    content: [
      resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
  }),
  test_multiple_content_types: () => ({
    content: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  test_error_handling: () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  }),
  test_tool_with_logging: async ({ notify }) => {
    for (const data of [
      'Tool execution started',
      'Tool processing data',
      'Tool execution completed',
    ]) {
      await notify({ method: 'notifications/message', params: { level: 'info', data } })
      await pause(50)
    }
    return { content: [text('Done')] }
  },
  test_tool_with_progress: async ({ notify, token }) => {
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: token, progress, total: 100 }
      if (token !== undefined) await notify({ method: 'notifications/progress', params })
      await pause(50)
    }
    return { content: [text('Done')] }
  },
  json_schema_2020_12_tool: () => ({ content: [text('Done')] }),
}

const SCHEMA_TOOL = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
} as const

const RESOURCES: Readonly<Record<string, object>> = {
  'test://static-text': {
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched.' },
}

function read(uri: string): object {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? []
  if (id !== undefined) {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` }
    return { uri, mimeType: 'application/json', text: JSON.stringify(data) }
  }
  if (!Object.hasOwn(RESOURCES, uri))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such resource.')
  return { uri, ...RESOURCES[uri] }
}

const argument = (name: string) => ({ name, description: name, required: true })
type Arguments = Readonly<Record<string, string>>

const PROMPTS: Readonly<
  Record<string, { takes: readonly string[]; says: (given: Arguments) => readonly object[] }>
> = {
  test_simple_prompt: { takes: [], says: () => [text('This is a simple prompt for testing.')] },
  test_prompt_with_arguments: {
    takes: ['arg1', 'arg2'],
    says: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    takes: ['resourceUri'],
    says: ({ resourceUri = '' }) => [
      resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
      text('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: {
    takes: [],
    says: () => [image, text('Please analyze the image above.')],
  },
}

/** Creates a server of the fixtures, for one request like those of the daemon. */
export function fixtures(): Server {
  const server = new Server(
    { name: 'fixtures', version: '0' },
    {
      capabilities: {
        completions: {},
        logging: {},
        prompts: {},
        resources: { subscribe: true },
        tools: {},
      },
    },
  )
  server.setRequestHandler('tools/list', async () => ({
    tools: Object.keys(TOOLS).map((name) => ({
      name,
      description: name,
      inputSchema: name.startsWith('json_schema') ? SCHEMA_TOOL : { type: 'object' as const },
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = Object.hasOwn(TOOLS, params.name) ? TOOLS[params.name] : undefined
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool.')
    return (await tool({
      notify: (notification) => mcpReq.notify(notification as never),
      token: mcpReq._meta?.progressToken,
    })) as never
  })
  server.setRequestHandler('logging/setLevel', async () => ({}))
  server.setRequestHandler('completion/complete', async () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
  }))
  server.setRequestHandler('resources/list', async () => ({
    resources: Object.keys(RESOURCES).map((uri) => ({ uri, name: uri, description: uri })),
  }))
  server.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }))
  server.setRequestHandler('resources/read', async ({ params }) => ({
    contents: [read(params.uri)] as never,
  }))
  server.setRequestHandler('resources/subscribe', async () => ({}))
  server.setRequestHandler('resources/unsubscribe', async () => ({}))
  server.setRequestHandler('prompts/list', async () => ({
    prompts: Object.entries(PROMPTS).map(([name, { takes }]) => ({
      name,
      description: name,
      arguments: takes.map(argument),
    })),
  }))
  server.setRequestHandler('prompts/get', async ({ params }) => {
    const prompt = Object.hasOwn(PROMPTS, params.name) ? PROMPTS[params.name] : undefined
    if (prompt === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such prompt.')
    const content = prompt.says(params.arguments ?? {})
    return { messages: content.map((content) => ({ role: 'user', content })) as never }
  })
  return server
}
