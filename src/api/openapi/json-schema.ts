import { type Schema, type Table } from '../route.ts'
import type { Examples } from './examples.ts'

export type Json = Record<string, unknown>

/** Makes JSON Schema of ours, which refers to the definitions by their titles. */
export type Convert = (schema: Schema, typeMode: 'input' | 'output') => Json

/** What a document is folded from. */
export interface Folded {
  readonly table: Table
  readonly version: string
  /** What a request of this method and path needs, from the scope table. */
  readonly need: (method: string, segments: readonly string[]) => string
  /** Where the daemon is asked; its usual address unless told. */
  readonly server?: string | undefined
  /** What was really asked and answered. */
  readonly examples?: Examples
}
