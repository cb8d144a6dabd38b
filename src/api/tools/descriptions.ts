/** The texts of all tools, by name. */
import { account } from './descriptions/account.ts'
import { arranging } from './descriptions/arranging.ts'
import { connecting } from './descriptions/connecting.ts'
import { organisation } from './descriptions/organisation.ts'
import { proving } from './descriptions/proving.ts'
import type { Text } from './descriptions/text.ts'
import type { ToolName } from './tool.ts'

export const TEXTS: Readonly<Record<ToolName, Text>> = {
  ...proving,
  ...connecting,
  ...arranging,
  ...account,
  ...organisation,
}
