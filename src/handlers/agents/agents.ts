/** The tools, over plain HTTP and in the Model Context Protocol. */
import { agents } from '../../api/agents/index.ts'
import { lazily } from '../../api/lazy.ts'
import type { AgentHandlers } from '../context.ts'

export const agentAnswers = lazily<AgentHandlers>(agents, ['daemon'], {
  mcp: async () => (await import('./mcp.ts')).mcp,
  toolCalls: async () => (await import('./tools.ts')).toolCalls,
})
