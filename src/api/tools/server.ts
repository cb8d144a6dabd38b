/**
 * Serves the tools over the Model Context Protocol.
 *
 * A new server object is created for each request or connection.
 */
import * as v from 'valibot'
import type { Table } from '../route.ts'
import { redact } from '../../crypto/encoding/redact.ts'
import type { ListedTool } from '../agents/index.ts'
import type { Folded } from '../openapi/json-schema.ts'
import { type AppError, statusOf, toAppError } from '../../errors.ts'
import { VERSION } from '../../runtime/version.ts'
import { type Ask, newCaller } from './call.ts'
import { type Completed, proposalsFor } from './completions.ts'
import { listedTool } from './list.ts'
import {
  type McpPrompt,
  argumentOf,
  faultOfArguments,
  listedPrompt,
  promptNamed,
  promptsFor,
  textOfPrompt,
} from './prompts.ts'
import {
  listedResources,
  listedTemplates,
  readableAt,
  resourceAt,
  variableOf,
} from './resources.ts'
import { type Result, toolError, resultOf } from './result.ts'
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type StandardSchemaV1,
} from './sdk.ts'
import { TOOL_SETS, setsIn, setsWith, toolsIn } from './sets.ts'
import { type Tool, type ToolName, toolsOf } from './tool.ts'

/** The instructions for a model: a text, and the tools that it is about. */
const INSTRUCTIONS: readonly (readonly [text: string, tools: readonly ToolName[]])[] = [
  [
    "Countersign holds a person's account on this machine: three spoken words that prove who is on the line, and stamps, content that was signed here.\n",
    [],
  ],
  [
    'To check a person on the line, ask for their three words and call verify_words; never reveal the words that you expect. "verified" means that a known person said them: compare who matched with who they claim to be. Report "not verified" only where "conclusive" is true.',
    ['verify_words'],
  ],
  [
    ' If they called your user, read words to say only after theirs were verified.',
    ['verify_words', 'connections_code'],
  ],
  [
    ' Before money or access changes hands, draw a challenge with verify_challenge: the words that answer it are for this listener and one purpose alone.',
    ['verify_words', 'verify_challenge'],
  ],
  [
    '\nWherever a tool takes an id, it also takes the whole name, as the user says it. If a name can mean several, nothing is done, and the error lists them with their ids: let the user choose. An error says in its message what to do; where it names a route or command, the tool for it has a like name, as guest_codes_list for GET /api/v1/guest-codes.',
    [],
  ],
]

/** Returns the instructions for a model that has these tools. */
const instructionsFor = (tools: ReadonlySet<string>): string =>
  INSTRUCTIONS.filter(([, needed]) => needed.every((name) => tools.has(name)))
    .map(([text]) => text)
    .join('')

/** Called with each internal failure, to log its cause. The client does not get the cause. */
export type ReportCall = (tool: string, error: AppError) => void

const shortened = (name: string) => redact(name.slice(0, 400)).slice(0, 100)

/**
 * Returns a schema of parameters in the form of the library. Without one, the library would report
 * invalid parameters as an internal error. valibot's own form is not in the bundle (build.mjs).
 * @see https://standardschema.dev
 */
function withParams<S extends v.GenericSchema>(schema: S) {
  const params: StandardSchemaV1<v.InferInput<S>, v.InferOutput<S>> = {
    '~standard': {
      version: 1,
      vendor: 'valibot',
      validate(given) {
        const { success, output, issues = [] } = v.safeParse(schema, given)
        if (success) return { value: output }
        const keysOf = ({ path }: v.BaseIssue<unknown>) => path?.map(({ key }) => String(key))
        return { issues: issues.map((issue) => ({ message: issue.message, path: keysOf(issue) })) }
      },
    },
  }
  return { params }
}

/** The parameters of requests about one resource. */
export const AT_RESOURCE = withParams(v.object({ uri: v.string() }))
const AT_PROMPT = withParams(
  v.object({
    name: v.string(),
    arguments: v.optional(v.record(v.string(), v.string()), {}),
  }),
)
const TO_COMPLETE = withParams(
  v.object({
    ref: v.variant('type', [
      v.object({ type: v.literal('ref/prompt'), name: v.string() }),
      v.object({ type: v.literal('ref/resource'), uri: v.string() }),
    ]),
    argument: v.object({ name: v.string(), value: v.string() }),
  }),
)

const noResource = (uri: string) => {
  const shown = shortened(uri)
  return new ResourceNotFoundError(
    shown,
    `There is no resource ${JSON.stringify(shown)}. List the resources first.`,
  )
}

/**
 * Checks that a client can subscribe to the resource with an address.
 * @throws ResourceNotFoundError
 */
export function requireResource(uri: string): void {
  if (resourceAt(uri) === undefined) throw noResource(uri)
}

const invalidParams = (message: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message)

/** Returns a row's error as an error of the protocol, for requests that have no other errors. */
const refusalOf = ({ structuredContent }: Result) =>
  new ProtocolError(
    ProtocolErrorCode.InvalidRequest,
    String(structuredContent?.['message']),
    structuredContent,
  )

export interface McpServerOptions {
  /** Whether clients can subscribe to resources. */
  readonly canSubscribe: boolean
  /** The sets of tools that are listed, separated by commas. */
  readonly sets: string
  /** Returns how a client chooses sets, as an instruction without its end. */
  readonly toChoose: (sets: string) => string
}

/**
 * Returns a function that creates MCP servers, which call rows through `ask`.
 * @param need returns the need of a request with this method and path, from the scope table
 */
export function newServers(table: Table, need: Folded['need']) {
  const every = toolsOf(table)
  const all = new Map(every.map((tool) => [tool.name, tool]))
  const call = newCaller(table)
  const listed = new Map<string, ListedTool>()
  /** Returns a tool as it is listed, which is made once. */
  function listing(tool: Tool): ListedTool {
    const made = listed.get(tool.name) ?? listedTool(tool, need)
    listed.set(tool.name, made)
    return made
  }

  return (ask: Ask, report: ReportCall, { canSubscribe, sets, toChoose }: McpServerOptions) => {
    const tools = toolsIn(every, sets)
    const names = new Set(tools.map(({ name }) => name))
    const prompts = promptsFor(names)

    /** Returns the error of a row as a result; reports an internal failure. */
    function failed(what: string, cause: unknown): Result {
      const error = toAppError(cause)
      if (statusOf(error.code) >= 500) report(what, error)
      if (error.code !== 'internal') return toolError(error)
      throw new ProtocolError(ProtocolErrorCode.InternalError, error.message)
    }
    const called = async (name: string, given: Readonly<Record<string, unknown>>) => {
      try {
        return await resultOf(await call(ask, name, given))
      } catch (cause) {
        return failed(name, cause)
      }
    }

    /** Returns the error for a tool that is not listed. */
    function noTool(name: string): ProtocolError {
      const tool = all.get(name)
      const shown = JSON.stringify(shortened(name))
      if (tool === undefined)
        return invalidParams(`There is no tool ${shown}. List the tools first.`)
      const [set = ''] = setsWith(tool)
      return invalidParams(
        `The tool ${shown} is in the set ${set}, and this server has only: ${sets}. To use it, ${toChoose(`${sets},${set}`)}.`,
      )
    }

    function promptAt(name: string): McpPrompt {
      const prompt = prompts.includes(name) ? promptNamed(name) : undefined
      if (prompt !== undefined) return prompt
      throw invalidParams(
        `There is no prompt ${JSON.stringify(shortened(name))}. List the prompts first.`,
      )
    }

    const others = TOOL_SETS.filter((set) => !setsIn(sets).includes(set)).join(', ')
    const more =
      tools.length === all.size
        ? ''
        : `\nThese are the tools of: ${sets}. For others, tell your user to ${toChoose('SETS')}, where SETS are some of: ${others}.`
    const server = new Server(
      { name: 'countersign', title: 'Countersign', version: VERSION },
      {
        capabilities: {
          tools: {},
          prompts: {},
          completions: {},
          resources: canSubscribe ? { subscribe: true } : {},
        },
        instructions: instructionsFor(names) + more,
      },
    )
    server.setRequestHandler('tools/list', async () => ({ tools: tools.map(listing) }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      const { name } = params
      if (!names.has(name)) throw noTool(name)
      return called(name, params.arguments ?? {})
    })
    server.setRequestHandler('prompts/list', async () => ({
      prompts: prompts.map((name) => listedPrompt(name, promptAt(name))),
    }))
    server.setRequestHandler('prompts/get', AT_PROMPT, async ({ name, arguments: given }) => {
      const prompt = promptAt(name)
      const fault = faultOfArguments(prompt, given)
      if (fault !== null) throw invalidParams(fault)
      const content = { type: 'text', text: textOfPrompt(prompt, given) } as const
      return { description: prompt.description, messages: [{ role: 'user', content }] }
    })
    server.setRequestHandler('completion/complete', TO_COMPLETE, async ({ ref, argument }) => {
      const accepted: Completed | undefined =
        ref.type === 'ref/prompt'
          ? argumentOf(promptAt(ref.name), argument.name)
          : variableOf(ref.uri, argument.name)
      if (accepted === undefined)
        throw invalidParams(`There is no argument ${JSON.stringify(shortened(argument.name))}.`)
      try {
        return { completion: await proposalsFor(ask, accepted, argument.value) }
      } catch (cause) {
        throw refusalOf(failed('completion', cause))
      }
    })
    server.setRequestHandler('resources/list', async () => ({ resources: listedResources }))
    server.setRequestHandler('resources/templates/list', async () => ({
      resourceTemplates: listedTemplates,
    }))
    server.setRequestHandler('resources/read', AT_RESOURCE, async ({ uri }) => {
      const found = readableAt(uri)
      if (found === undefined) throw noResource(uri)
      const { tool, args = () => ({}), partOf = (answer) => answer } = found
      const result = await called(tool, args())
      if (result.isError) throw refusalOf(result)
      const text = JSON.stringify(partOf(result.structuredContent ?? {}))
      return { contents: [{ uri, mimeType: 'application/json', text }] }
    })
    return server
  }
}
