import type { ToolOffer } from '../../../agent/model.ts'
import { cut } from './passages.ts'

/** Answers about the model itself. */

const configure =
  'For open conversation, put a language model in its place: set `llms.primary` in agent.yaml, for instance ' +
  '`{provider: openai, model: ..., api_key: "${OPENAI_API_KEY}"}`, or `{provider: openai-compatible, base_url: "http://localhost:11434/v1", model: ...}` for one of your own.'

export function greetingText(kind: 'greeting' | 'thanks', tools: readonly ToolOffer[]): string {
  if (kind === 'thanks') return 'You are welcome.'
  const names = tools.map((tool) => `\`${tool.name}\``)
  return names.length > 0 ? `Hello! What would you like to know? I can use ${listOf(names)}.` : 'Hello! What would you like to know?'
}

export function abilitiesText(name: string, tools: readonly ToolOffer[]): string {
  const intro = `I am ${name}, the model that is built into this service. I work by rules: I choose a tool for a request, fill in its input and report what it gives.`
  return [intro, toolLines(tools), configure].join('\n\n')
}

export function inabilityText(name: string, question: string, tools: readonly ToolOffer[]): string {
  const topic = cut(question.trim().replace(/\s+/g, ' '), 80)
  const start = topic === '' ? 'There is no question that I could answer.' : `I can not help with “${topic}”: none of my tools fits it.`
  const intro = `${start} I am ${name}, a model that works by rules, not a language model.`
  return [intro, toolLines(tools), configure].join('\n\n')
}

function toolLines(tools: readonly ToolOffer[]): string {
  if (tools.length === 0) return 'I have no tools at the moment.'
  const lines = tools.map(({ name, description }) => `- \`${name}\`: ${firstSentence(description)}`)
  return `What I can use:\n\n${lines.join('\n')}`
}

function firstSentence(description: string): string {
  const line = description.trim().split('\n')[0] ?? ''
  return cut(/^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line, 160)
}

function listOf(names: string[]): string {
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
