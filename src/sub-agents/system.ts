import type { AgentConfig } from '../configuration/schema.ts'
import type { SubAgent } from './sub-agent-store.ts'

/** The system prompt of a sub-agent, below the instructions of the whole agent. */
export function systemOf({ name, description, objective }: SubAgent, { instructions }: Pick<AgentConfig, 'instructions'>): string {
  const self = [
    `You are the sub-agent "${name}".`,
    description && `What you are for: ${description}`,
    objective && `Your objective: ${objective}`,
    'You are given one task. Do it with your tools and answer with its result: nothing else that you say is read.',
  ].filter((line) => line !== '')
  return [instructions.trim(), self.join('\n')].filter((part) => part !== '').join('\n\n')
}
