/** The tools, over HTTP as they are and in the Model Context Protocol. */
import { type Agents, agents } from '../api/agents/index.ts'
import { lazily } from '../api/lazy.ts'
import type { Answers } from '../api/route.ts'
import type { Context } from './context.ts'

export type AgentHandlers = Answers<Agents, 'daemon', Context>

export const agentAnswers = lazily<AgentHandlers>(agents, ['daemon'], {
  mcp: async () => (await import('./mcp.ts')).mcp,
  toolCalls: async () => (await import('./tools.ts')).toolCalls,
})
