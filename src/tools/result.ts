/** What a tool answers, as the Model Context Protocol says it. */
import type { Content } from '../api/route.ts'
import type { AppError } from '../errors.ts'

/** The most of an answer that comes bit by bit, in bytes. */
const LARGEST = 1024 * 1024

type Block = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string }

/** A result, whose `structuredContent` is the JSON that the row answers. */
export interface Result {
  [name: string]: unknown
  readonly content: Block[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: true
}

async function bytesOf(body: Content['body']): Promise<Buffer> {
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as string)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > LARGEST) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).subarray(0, LARGEST)
}

const isVector = (type: string) => type.startsWith('image/svg')

async function ofContent({ type, body }: Content): Promise<Result> {
  const bytes = await bytesOf(body)
  return type.startsWith('image/') && !isVector(type)
    ? { content: [{ type: 'image', data: bytes.toString('base64'), mimeType: type }] }
    : { content: [{ type: 'text', text: bytes.toString() }] }
}

const ofJson = (value: Record<string, unknown>): Result => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
})

/** What a row answered; a row without an answer answers `{}`. */
export const resultOf = async ({
  value = {},
  media,
}: {
  readonly value?: unknown
  readonly media: boolean
}): Promise<Result> =>
  media ? ofContent(value as Content) : ofJson(value as Record<string, unknown>)

/** What a row refused, as the interface says it: a model that reads it can do better. */
export const refusalOf = (error: AppError): Result => ({
  ...ofJson(JSON.parse(JSON.stringify(error)) as Record<string, unknown>),
  isError: true,
})
