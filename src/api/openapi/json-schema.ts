import { type RowSchema, type Table } from '../route.ts'
import type { Examples } from './examples.ts'

export type JsonRecord = Record<string, unknown>

/** Converts a schema to JSON Schema. Definitions are referred to by their titles. */
export type Convert = (schema: RowSchema, typeMode: 'input' | 'output') => JsonRecord

/** The input for an OpenAPI document. */
export interface Folded {
  readonly table: Table
  readonly version: string
  /** Returns the need of a request with this method and path, from the scope table. */
  readonly need: (method: string, segments: readonly string[]) => string
  /** The address of the daemon; the default address if absent. */
  readonly server?: string | undefined
  /** Recorded requests and answers. */
  readonly examples?: Examples
}
