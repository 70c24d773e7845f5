import { ProtocolError, ProtocolErrorCode, type GetPromptResult, type Prompt } from '@modelcontextprotocol/server'
import { nameTools } from '../../../agent/tool-names.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'

type Starters = Pick<AgentConfig, 'conversation_starters'>

/** The conversation starters of the agent as prompts, by names that every client accepts. */
export function listPrompts(config: Starters): Prompt[] {
  return [...promptsOf(config)].map(([name, { title, message }]) => ({ name, title, description: message }))
}

export function getPrompt(config: Starters, name: string): GetPromptResult {
  const starter = promptsOf(config).get(name)
  if (!starter) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt ${name.slice(0, 100)}.`)
  return { description: starter.title, messages: [{ role: 'user', content: { type: 'text', text: starter.message } }] }
}

function promptsOf({ conversation_starters: starters }: Starters) {
  return nameTools(starters.map(({ title, message }) => ({ name: title, title, message })))
}
