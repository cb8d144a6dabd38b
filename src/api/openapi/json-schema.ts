import { type RowSchema, type Table } from '../route.ts'
import type { Examples } from './examples.ts'

export type JsonRecord = Record<string, unknown>

/** Converts a schema to JSON Schema, which refers to the definitions by their titles. */
export type Convert = (schema: RowSchema, typeMode: 'input' | 'output') => JsonRecord

/** The input of a document. */
export interface Folded {
  readonly table: Table
  readonly version: string
  /** Returns what a request of this method and path needs, from the scope table. */
  readonly need: (method: string, segments: readonly string[]) => string
  /** The address of the daemon; the default address if absent. */
  readonly server?: string | undefined
  /** Recorded requests and answers. */
  readonly examples?: Examples
}
