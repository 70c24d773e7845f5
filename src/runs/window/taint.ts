import type { Taint } from '../../agent/messages.ts'
import { joinTaints, marksOf, taintOfCall, taintOfMessages } from '../../agent/taint.ts'
import type { Tool } from '../../agent/tool.ts'
import { findTool } from '../../agent/tool-names.ts'
import type { RecalledMemories } from '../../memory/recall.ts'
import type { HistoryMessage, RunningSummary } from '../run-store.ts'
import type { ChatRequest } from '../run.ts'

/** Taint from beside the transcript of a run: earlier turns, the summary, attachments and memories. */

const uploaded: Taint = { sources: [{ tool: 'upload' }], isPrivate: true }

/** Taint of answers that a client brings: the text before the answers is unknown. */
const clientAnswers: Taint = { sources: [{ tool: 'conversation' }], isPrivate: true }

/**
 * The taint of the messages of a session. Each answer is stored with the taint of everything shown to its model. Answers from before
 * containment are judged by their tool calls, and questions by their attachments. An answer without a model is from a client.
 */
export function taintOfHistory(history: readonly HistoryMessage[], toolsByName: ReadonlyMap<string, Tool>): Taint {
  return joinTaints(
    ...history.map(({ role, data }, at) => {
      if (role === 'ai') return data?.taint ?? (data?.model === undefined ? clientAnswers : taintOfAnswer(data, toolsByName))
      const hasFiles = data?.images ?? data?.files ?? data?.contextFiles
      return hasFiles && !history[at + 1]?.data?.taint ? uploaded : undefined
    }),
  )
}

function taintOfAnswer(data: HistoryMessage['data'], toolsByName: ReadonlyMap<string, Tool>): Taint {
  const calls = data?.steps?.filter(({ type }) => type === 'tool_call') ?? []
  const ofSteps = calls.map(({ tool: name }) => taintOfCall(name, marksOf(findTool(toolsByName, name) ?? {}), `step ${name}`))
  return withoutIds(joinTaints(...ofSteps, taintOfMessages(data?.transcript ?? [], toolsByName)))
}

/** Steps of answers have no ids of calls. */
function withoutIds({ sources, isPrivate }: Taint): Taint {
  return {
    isPrivate,
    sources: sources.map(({ callId, ...source }) => (callId?.startsWith('step ') ? source : { ...source, callId: callId! })),
  }
}

/** The taint of a summary. A summary from before containment may hold anything. */
export function taintOfSummary(summary: RunningSummary | undefined): Taint | undefined {
  return summary && summary.text !== '' ? (summary.taint ?? { sources: [{ tool: 'summary' }], isPrivate: true }) : undefined
}

/** The taint of answers that a client brings, and of attachments. Uploads may be of strangers; files under FILES_ROOT are the operator's. */
export function taintOfRequest(request: ChatRequest, history: readonly HistoryMessage[]): Taint {
  const { messages, continuation, documents, images, files, contextFiles } = request
  // Many clients send the whole conversation with each question. The answers that the session has are no news.
  const answers = new Set(history.flatMap(({ role, content, data }) => (role === 'ai' && data?.model !== undefined ? [content] : [])))
  const hasUploads = (documents ?? images) !== undefined || files?.some(({ isContextFile }) => !isContextFile)
  const hasAnswers =
    continuation !== undefined ||
    messages.some(({ role, content, calls }) => role === 'assistant' && (calls !== undefined || !answers.has(content)))
  const ofFiles = contextFiles || files ? { sources: [], isPrivate: true } : undefined
  return joinTaints(hasAnswers ? clientAnswers : undefined, hasUploads ? uploaded : ofFiles)
}

export function taintOfMemories(memories: RecalledMemories | undefined): Taint | undefined {
  return memories && { sources: memories.isUntrusted ? [{ tool: 'memory' }] : [], isPrivate: true }
}
