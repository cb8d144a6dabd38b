/** How a tool is told of. */
import type { ToolGroup, ToolsOf } from '../tool.ts'

export interface Text {
  /** A few words for people. */
  readonly title: string
  /** What a model reads to choose among all tools: what it does, when rather than another, what comes before, what is not undone. */
  readonly description: string
}

/** The texts of all tools of some groups: none is missing, none is too many. */
export type Texts<G extends ToolGroup> = Readonly<Record<ToolsOf<G>, Text>>
