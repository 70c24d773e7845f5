import type { Step } from '../../agent/events.ts'
import type { Message } from '../../agent/messages.ts'
import type { ModelSource } from '../../agent/model.ts'
import type { Citation } from '../../sessions/message.ts'

interface AnsweredProgress {
  messages: readonly Message[]
  ownFrom: number
  steps: readonly Step[]
}

/**
 * The sources of the message that is the answer, as citations. Places of the provider count in the text of its own message, so sources of
 * other messages of the run are left out. A source without a place supports the whole answer.
 */
export function citationsOfSources(answer: () => string, { messages, ownFrom, steps }: AnsweredProgress): Citation[] {
  const named = messages.slice(ownFrom).filter((message) => message.role === 'assistant' && message.sources)
  if (named.length === 0) return []
  const output = answer()
  const message = named.findLast(({ text }) => text === output)
  const sources = message?.role === 'assistant' ? (message.sources ?? []) : []
  const tool = steps.findLast(({ isOfProvider, status, subAgent }) => isOfProvider && status === 'success' && !subAgent)?.tool ?? 'model'
  return sources.map((source) => toCitation(source, tool, output.length))
}

function toCitation({ url, title, text = '', start, end }: ModelSource, tool: string, length: number): Citation {
  return {
    tool,
    file: title || hostOf(url),
    ...(url !== undefined && { url, title: title || hostOf(url) }),
    heading: '',
    start: 0,
    end: text.length,
    text,
    answerStart: start ?? 0,
    answerEnd: end ?? length,
  }
}

function hostOf(url = ''): string {
  return URL.parse(url)?.host ?? ''
}
