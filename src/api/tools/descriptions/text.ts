/** The texts that describe a tool. */
import type { ToolGroup, ToolsOf } from '../tool.ts'

export interface Text {
  /** A short title for users. */
  readonly title: string
  /**
   * The text by which a model chooses among all tools: what the tool does, when to use it rather
   * than another, what has to precede it, and what cannot be undone.
   */
  readonly description: string
}

/** The texts of all tools of some groups: a missing or a surplus one does not compile. */
export type Texts<G extends ToolGroup> = Readonly<Record<ToolsOf<G>, Text>>
