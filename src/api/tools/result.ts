/** Converts answers of rows to results of the Model Context Protocol. */
import { isEventStream } from '../event-stream.ts'
import type { Content } from '../route.ts'
import type { AppError } from '../../errors.ts'
import { answerOf, streamedBytes } from './streamed.ts'

type Block = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string }

/** The result of a tool call. `structuredContent` is the row's JSON answer. */
export interface Result {
  [name: string]: unknown
  readonly content: Block[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: true
}

const isVector = (type: string) => type.startsWith('image/svg')
const isJson = (type: string) => type.startsWith('application/json')

const ofJson = (value: Record<string, unknown>): Result => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
})

async function ofContent(given: Content): Promise<Result> {
  const { type, body } = given
  if (isEventStream(type)) return ofJson(await answerOf(given))
  const bytes = await streamedBytes(body)
  if (isJson(type)) return ofJson(JSON.parse(bytes.toString()) as Record<string, unknown>)
  return type.startsWith('image/') && !isVector(type)
    ? { content: [{ type: 'image', data: bytes.toString('base64'), mimeType: type }] }
    : { content: [{ type: 'text', text: bytes.toString() }] }
}

/**
 * Returns the result of an answer; an empty object if the row has no reply.
 * @throws AppError if the answer breaks off, or is larger than a tool may return
 */
export const resultOf = async ({
  value = {},
  media,
}: {
  readonly value?: unknown
  readonly media: boolean
}): Promise<Result> =>
  media ? ofContent(value as Content) : ofJson(value as Record<string, unknown>)

/** Returns a row's error as a result, so that a model can correct its call. */
export const toolError = (error: AppError): Result => ({
  ...ofJson(JSON.parse(JSON.stringify(error)) as Record<string, unknown>),
  isError: true,
})
