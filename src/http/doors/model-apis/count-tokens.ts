import { charactersPerToken, tokensPerFile, tokensPerImage } from '../../../agent/history.ts'
import type { Agent } from '../../../configuration/agent.ts'
import { invalid } from '../../../errors.ts'
import { isDeeper, maxJsonDepth } from '../../../json/shape.ts'
import type { ChatSource } from '../core/open-chat.ts'

type CountedChat = Pick<ChatSource, 'messages' | 'continuation' | 'body' | 'sentFiles' | 'instructions'>

/** The tokens of a request for the first model call, estimated: with the instructions and the tools of the agent. */
export function countTokens(source: CountedChat, { config, tools }: Pick<Agent, 'config' | 'tools'>): number {
  const { messages = [], continuation = [], body, sentFiles = [] } = source
  const offers = [...tools.list(), ...(body.client_tools ?? [])].map(({ name, description, schema }) => ({ name, description, schema }))
  if (isDeeper(offers, maxJsonDepth)) throw invalid(['body', 'tools'], 'is nested too deeply')
  const said = [...messages, ...continuation].map(({ content, calls = [] }) =>
    calls.reduce((sum, call) => sum + call.arguments.length + call.result.length, content.length),
  )
  const texts = [config.instructions, source.instructions ?? '', ...(offers.length > 0 ? [JSON.stringify(offers)] : [])]
  const characters = [...said, ...texts.map(({ length }) => length)].reduce((sum, length) => sum + length, 0)
  const files = (body.images?.length ?? 0) * tokensPerImage + sentFiles.length * tokensPerFile
  return Math.ceil(characters / charactersPerToken) + files
}
